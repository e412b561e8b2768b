//go:build !lens_noop

package gym

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/nemo-lens/lens/lenstest"
)

// metricCases says which test shows which case of the specification's list of
// metrics, "case: what: package.Test". TestMetricCasesAreTested looks for them.
const metricCases = `
63: no telemetry, not exporting, broken meter:      gym.TestMetrics63NothingIsRecordedWithoutAMeter
63: the same for outcomes, requests, calls:         gym.TestMetrics63Counters
63: the same for what runs in the background:       gym.TestReasons
64: rollout and verify, rate of success:            gym.TestMetrics64To65Values
64: only failures:                                  gym.TestMetrics64OnlyFailures
65: active servers, no request duration:            gym.TestMetrics64To65Values
66: instruments belong to a meter:                  gym.TestMetrics66InstrumentsAreOfOneMeter
66: and so do those of outcomes, pool, operations:  gym.TestMetrics66SharedInstruments
67: sandboxes active, every edge:                   gym.TestSandbox67Active
67: group off:                                      gym.TestSandbox55GroupOff
68: bounds of start-up and sandbox:                 gym.TestMetrics68Bounds
68: bounds of calls of a model:                     gym.TestMetrics75ModelCalls
68: bounds of the pool, at each collection:         connpool.TestTwoCallsOnOneSlot
69: no queue:                                       connpool.TestWithoutQueueOnlyTheAcquisitionIsCounted
69: client span kept:                               connpool.TestClientSpanIsKept
69: two calls on one slot:                          connpool.TestTwoCallsOnOneSlot
69: the same below a client span of gym:            gym.TestMetrics69Pool
69: metrics off:                                    connpool.TestMetricsOffIsAPlainPool
69: no metrics when the pool is built:              gym.TestPoolIsPlainWithoutMetrics
69: labels, the caller's restored:                  connpool.TestLabels
69: concurrent labels:                              connpool.TestConcurrentLabelsStaySeparate
69: counts survive the pool:                        connpool.TestCountsSurviveTheReplacementOfThePool
69: three calls, one per host:                      connpool.TestThreeCallsAtOnePerHost
69: total and per host:                             connpool.TestTwoHostsAtTotalTwoAndOnePerHost
69: timeout, then retry:                            connpool.TestTimeoutThenRetry
69: the same with the retries of gym:               gym.TestMetrics69TimeoutThenRetry
69: cancel:                                         connpool.TestCancelIsAbandoned
69: recorder failure:                               connpool.TestRecorderFailureLeavesTheResponseAlone
69: unlimited total:                                connpool.TestUnlimitedTotalIsPerHost
69: capacity, reported once:                        gym.TestPoolReportsItsCapacityOnce
70: own process:                                    memprofile.TestOwnProcess
70: host used:                                      memprofile.TestHost
70: not Linux:                                      memprofile.TestPlatform
70: every other reason:                             gym.TestReasons
70: the reasons through gym:                        gym.TestNothingStartsWithoutTelemetry
70: no such process:                                memprofile.TestVanishedProcess
70: smaps denied:                                   memprofile.TestStatmWhereRollupIsDenied
70: one PSS unknown:                                memprofile.TestOneUnknownPSSTakesThatOfTheTree
70: unreadable children:                            memprofile.TestTreeWalk
70: child process:                                  memprofile.TestChildProcessByBothWays
70: usage, peak, processes of server and host:      memprofile.TestUsagePeakAndProcesses
70: no telemetry, no peaks:                         memprofile.TestWithoutTelemetryPeaksStayEmpty
70: broken meter:                                   memprofile.TestNewRefuses
70: every target in order, errors swallowed:        memprofile.TestEveryTargetIsSampledInOrder
70: start and stop twice:                           memprofile.TestStartAndStopTwice
70: real children through gym:                      gym.TestMetrics70RealServers
71: serialises:                                     operations.TestSemaphoreSerialises
71: group on and off, no limit:                     gym.TestMetrics71Semaphore
71: no limit:                                       operations.TestNoLimitDoesNothing
71: peak:                                           operations.TestSemaphoreNeverLetsInMoreThanItsLimit
72: first call, cached, read again:                 sampler.TestCPUPrimesReadsAndCaches
72: errors, flaky prime:                            sampler.TestCPUErrorsAreSwallowed
72: logical and physical:                           sampler.TestHostCPUs
72: through the flags:                              gym.TestMetrics72And74AtSpans
73: rows:                                           sampler.TestParseDevices
73: selector:                                       sampler.TestFieldC9Select
73: only the selected:                              sampler.TestOnlySelectedDevicesAreRecorded
73: missing program is sticky:                      sampler.TestMissingProgramIsStickyAfterOneCall
73: exit and timeout are not:                       sampler.TestOtherFailuresAreTriedAgain
73: start twice, stop without start:                sampler.TestStartAndStopAreIdempotent
73: through the flag:                               gym.TestMetrics73GPU
74: exemplar:                                       sampler.TestCPUGaugeHasTheSpanAsExemplar
74: through the flags:                              gym.TestMetrics72And74AtSpans
75: rollout outcomes:                               gym.TestMetrics75RolloutOutcomes
75: calls of a model:                               gym.TestMetrics75ModelCalls
`

// Not in the list: in case 69 the broken introspection, because the limits are
// this module's own and can be read always; in case 72 the handle that is opened
// once, which Go has not; in case 75 checkpoints, which gym has not.

func TestMetricCasesAreTested(t *testing.T) {
	t.Parallel()
	sources := make(map[string]string)
	cases := make(map[string]bool)
	for line := range strings.Lines(strings.TrimSpace(metricCases)) {
		parts := regexp.MustCompile(`^(\d+): .*: +(\w+)\.(Test\w+)$`).FindStringSubmatch(strings.TrimSpace(line))
		require.Len(t, parts, 4, line)
		number, pkg, test := parts[1], parts[2], parts[3]
		cases[number] = true
		if sources[pkg] == "" {
			dir := filepath.Join("internal", pkg)
			switch pkg {
			case "gym":
				dir = "."
			case "connpool":
				dir = pkg
			}
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			require.NoError(t, err)
			for _, f := range files {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				sources[pkg] += string(text)
			}
		}
		assert.Contains(t, sources[pkg], "\nfunc "+test+"(t *testing.T)", line)
	}
	for _, number := range []string{"63", "64", "65", "66", "67", "68", "69", "70", "71", "72", "73", "74", "75"} {
		assert.True(t, cases[number], number)
	}
}

// countEverything calls every recorder that counts outcomes.
func countEverything(t *testing.T) {
	ctx := context.Background()
	RecordRolloutOutcome(ctx, RolloutResult{Outcome: RolloutScored})
	c := BeginModelCall(ctx, DialectResponses)
	c.FirstToken()
	c.Tokens(TokensInput, 1)
	c.Finish("stop")
	c.End(nil)
	failures := 0
	rt := RetryTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		if failures++; failures == 1 {
			return nil, context.DeadlineExceeded
		}
		return ok(r)
	}), atOnce)
	res, err := rt.RoundTrip(httptest.NewRequest("GET", "http://h/", nil))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	limit := NewSemaphore(1, "x")
	require.NoError(t, ResourcesOperation(ctx, limit, OperationVerify, ExecutorInline, func(*RunningOperation) error { return nil }))
	pool, err := NewPool(roundTripper(ok), PoolSettings{Limit: 1})
	require.NoError(t, err)
	res, err = pool.RoundTrip(httptest.NewRequest("GET", "http://h/", nil))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	serve(CountInFlight(answer(200)), httptest.NewRequest("GET", "/", nil))
}

var countedNames = []string{
	"gym.rollout.completed_total", "gym.model_call.duration_ms", "gym.model_call.ttft_ms", "gym.model_call.tokens", "gym.model_call.finish_total",
	"gym.http.timeout_total", "gym.http.retry_total", "gym.concurrency.queue_wait_duration_ms", "gym.resources.operation.duration_ms",
	"gym.http.connection_pool.connect_total", "gym.server.requests.in_flight",
}

func TestMetrics63Counters(t *testing.T) {
	captureLog(t, io.Discard)
	lenstest.Start(t, append(SpanGroups.Groups().Groups(), Concurrency)...)
	for name, tel := range map[string]*telemetry{"none": nil, "not exporting": {}, "no meter": {}, "broken": {meter: brokenMeter{}}} {
		reset(t)
		if tel != nil {
			tel.metrics.Store(name == "no meter" || name == "broken")
			telemetryState.current.Store(tel)
		}
		assert.NotPanics(t, func() { countEverything(t) }, name)
	}
}

func TestMetrics66SharedInstruments(t *testing.T) {
	captureLog(t, io.Discard)
	first := withMetrics(t, "")
	lenstest.Start(t, append(SpanGroups.Groups().Groups(), Concurrency)...)
	countEverything(t)
	second := &readings{t, sdkmetric.NewManualReader()}
	useMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(second.reader)), "")
	countEverything(t)
	for _, name := range countedNames {
		assert.Contains(t, first.all(), name)
		assert.Contains(t, second.all(), name)
	}
	assert.Equal(t, map[string]float64{"nemo.gym.rollout.outcome=scored": 1}, first.values("gym.rollout.completed_total"))
	assert.Equal(t, map[string]float64{"nemo.gym.rollout.outcome=scored": 1}, second.values("gym.rollout.completed_total"))
}

// Everything that is exported is in the package's table, with its unit.
func TestMetricsAreDocumented(t *testing.T) {
	linuxOnly(t)
	allEnabled(t)
	t.Setenv("NEMO_GYM_OTEL_EVENT_LOOP_TASK_COUNT", "1")
	m := withMetrics(t, "s")
	telemetryState.current.Load().useSamplers()
	lenstest.Start(t, append(SpanGroups.Groups().Groups(), Concurrency)...)
	recordEverything(t)
	countEverything(t)
	annotate(context.Background())
	annotate(context.Background())
	serve(Middleware(answer(200)), httptest.NewRequest("GET", "/", nil))
	for _, start := range starters {
		r, err := start()
		require.NoError(t, err)
		defer r.Stop()
	}
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	all := m.all()
	assert.Greater(t, len(all), 35)
	for name, got := range all {
		if strings.HasPrefix(name, "http.server.re") && name != "http.server.request.duration" {
			continue // further ones of the instrumentation
		}
		unit := got.Unit
		if unit == "" {
			unit = "-"
		}
		row := regexp.MustCompile(`(?m)^//\t` + regexp.QuoteMeta(name) + `( \(\w+\))?( \*)? +(\S+)`).FindSubmatch(text)
		if name == "gym.concurrency.queue_wait_duration_ms" {
			assert.Equal(t, "ms", unit)
			assert.Contains(t, string(text), name)
			continue
		}
		if assert.NotNil(t, row, name) {
			assert.Equal(t, unit, string(row[3]), name)
		}
	}
}
