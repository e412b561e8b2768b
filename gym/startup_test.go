//go:build !lens_noop

package gym

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

const telemetryOn = "NEMO_GYM_OTEL_ENABLED=1"

func names(slices []Slice) (names []string) {
	for _, s := range slices {
		names = append(names, s.Name)
	}
	return names
}

func nanos(seconds float64) string { return strconv.FormatInt(at(seconds).UnixNano(), 10) }

// serverLine begins a timeline at second 100.
func serverLine(worker bool, environ ...string) (*ServerTimeline, *fakeClock) {
	clock := clockAt(100)
	return newServerTimeline("policy_model", ServerTypeModel, worker, true, lookupIn(environ), clock.now), clock
}

func TestStartup76Disabled(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t, Startup)
	srv := new(http.Server)
	for _, line := range []*ServerTimeline{nil, newServerTimeline("s", "", false, false, lookupIn([]string{StartupSpawnEnv + "=" + nanos(1)}), wallClock)} {
		line.Mark("a")
		line.AnnounceServing()
		line.ReportWhenServing(srv, "b")
		line.Report()
		assert.Empty(t, line.Stages())
	}
	assert.Nil(t, srv.BaseContext)
	assert.Empty(t, os.Getenv(StartupServeEnv), "case 83: no variable")
	assert.Empty(t, rec.Ended())
	assert.Empty(t, m.all())

	var none *SupervisorTimeline
	none.Mark("a")
	none.BeginTrace()
	assert.Nil(t, none.ServerEnv("s", ""))
	none.ServerReady("s")
	none.Finish()
	telemetryState.current.Store(nil)
	assert.Nil(t, newSupervisorTimeline(lookupIn(nil), wallClock).ServerEnv("s", ""), "telemetry is off")
}

func TestStartup77Stamps(t *testing.T) {
	t.Parallel()
	spawn, done := StartupSpawnEnv+"=", StartupSetupDoneEnv+"="
	line, _ := serverLine(false, spawn+nanos(95), done+nanos(99))
	assert.Equal(t, []Slice{{"venv_setup", at(95), at(99)}, {"interpreter_start", at(99), at(100)}}, line.Stages())
	line, _ = serverLine(false, spawn+nanos(95))
	assert.Equal(t, []Slice{{"interpreter_start", at(95), at(100)}}, line.Stages())
	line, _ = serverLine(false, spawn+nanos(95), done+nanos(200))
	assert.Equal(t, []string{"interpreter_start"}, names(line.Stages()), "a stamp from the future")
	line, _ = serverLine(false, spawn+nanos(95), done+nanos(90))
	assert.Equal(t, []string{"interpreter_start"}, names(line.Stages()), "stamps in the wrong order")
	for _, bad := range []string{"not-a-number", "", "-1", "0", "1.5", "99999999999999999999", nanos(200)} {
		line, _ = serverLine(false, spawn+bad, done+bad)
		assert.Empty(t, line.Stages(), bad)
	}
}

func TestStartup78Spans(t *testing.T) {
	reset(t)
	rec := lenstest.Start(t, Startup)
	line, clock := serverLine(false)
	clock.advance(secs(1))
	line.Mark("load_config")
	clock.advance(secs(2))
	line.Mark("init_server")
	line.Report()
	line.Report() // case 84: once
	root := rec.One("gym.server.startup")
	first, second := rec.One("gym.server.startup.load_config"), rec.One("gym.server.startup.init_server")
	assert.True(t, lenstest.IsChild(root, first) && lenstest.IsChild(root, second))
	assert.False(t, root.Parent().IsValid())
	interval := func(s sdktrace.ReadOnlySpan, start, end float64) {
		assert.True(t, s.StartTime().Equal(at(start)) && s.EndTime().Equal(at(end)), "%s: %s to %s", s.Name(), s.StartTime(), s.EndTime())
	}
	interval(root, 100, 103)
	interval(first, 100, 101)
	interval(second, 101, 103)
	want := map[string]any{"nemo.gym.server.name": "policy_model", "nemo.gym.server.type": "responses_api_models",
		"nemo.gym.server.worker": false, "process.pid": int64(os.Getpid())}
	assert.Equal(t, want, attributesOf(root))
	want["nemo.gym.startup.stage"] = "init_server"
	assert.Equal(t, want, attributesOf(second))
}

func TestStartup79Histogram(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t) // the group is off
	line, clock := serverLine(false)
	for _, stage := range []string{"a", "b"} {
		clock.advance(secs(2))
		line.Mark(stage)
	}
	line.Report()
	assert.Empty(t, rec.Ended())
	points := m.histogram("gym.server.startup_stage_duration_ms")
	require.Len(t, points, 2)
	for _, p := range points {
		assert.EqualValues(t, 1, p.Count)
		assert.InDelta(t, 2000, p.Sum, 0)
		attrs := attributesOfSet(p.Attributes)
		assert.Contains(t, []any{"a", "b"}, attrs["nemo.gym.startup.stage"])
		delete(attrs, "nemo.gym.startup.stage")
		assert.Equal(t, map[string]any{"nemo.gym.server.name": "policy_model", "nemo.gym.server.type": "responses_api_models", "nemo.gym.server.worker": false}, attrs)
	}
	// Without any stage there is nothing, without a type no attribute for it.
	empty := newServerTimeline("x", "", false, true, lookupIn(nil), clock.now)
	empty.Report()
	assert.Len(t, m.histogram("gym.server.startup_stage_duration_ms"), 2)
	assert.Len(t, serverAttributes("x", ""), 1)
}

// Neither the lack of telemetry nor spans that cannot be made reach the caller.
func TestStartup79FaultsAreSwallowed(t *testing.T) {
	reset(t)
	line, _ := serverLine(false)
	line.Mark("a")
	line.Report()

	lenstest.Start(t, Startup)
	panics := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(panicking{}))
	broken, _ := serverLine(false)
	broken.Mark("a")
	broken.lookup = func(string) (string, bool) { panic("no environment") }
	backwards, _ := serverLine(false)
	backwards.line.slices = []Slice{{"a", at(5), at(1)}} // which no span can be made of
	empty, _ := serverLine(false)
	empty.line.slices = []Slice{{"a", at(1), at(2)}, {"b", at(9), at(3)}}
	sup := newSupervisorTimeline(lookupIn([]string{telemetryOn}), wallClock)
	sup.rootCtx = lens.WithTracer(context.Background(), panics.Tracer("x"))
	sup.root = panickingSpan{}
	assert.NotPanics(t, func() {
		broken.Report()
		backwards.Report()
		empty.Report()
		assert.Len(t, sup.ServerEnv("s", ""), 1, "the time is there without a span")
		sup.ServerReady("s")
		sup.Finish()
	})
}

type panicking struct{ sdktrace.SpanProcessor }

func (panicking) OnStart(context.Context, sdktrace.ReadWriteSpan) { panic(errors.New("no span")) }

type panickingSpan struct{ trace.Span }

func TestStartup80And82OneTrace(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t, Startup)
	// The header is W3C whatever the process has.
	before := otel.GetTextMapPropagator()
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
	defer otel.SetTextMapPropagator(before)

	clock := clockAt(91)
	sup := newSupervisorTimeline(lookupIn([]string{telemetryOn}), clock.now)
	sup.Mark("load_config")
	sup.BeginTrace()
	sup.BeginTrace()
	env := sup.ServerEnv("policy_model", ServerTypeModel)
	require.Len(t, env, 2)
	assert.Equal(t, StartupSpawnEnv+"="+nanos(91), env[0])
	clock.t = at(95)
	sup.Mark("spawn_servers")

	server, _ := serverLine(false, env...)
	assert.Equal(t, []Slice{{"interpreter_start", at(91), at(100)}}, server.Stages())
	var serve string
	server.setenv = func(name, value string) error {
		assert.Equal(t, StartupServeEnv, name)
		serve = name + "=" + value
		return nil
	}
	server.AnnounceServing() // reports, too
	assert.Equal(t, StartupServeEnv+"="+nanos(100), serve)

	clockWorker := clockAt(102)
	worker := newServerTimeline("policy_model", ServerTypeModel, true, true, lookupIn(append(env, serve)), clockWorker.now)
	assert.Equal(t, []Slice{{"worker_start", at(100), at(102)}}, worker.Stages(), "spawn and set-up stamps are not a worker's")
	worker.Report()
	lost, _ := serverLine(true, env...)
	assert.Empty(t, lost.Stages(), "no stamp, no stage")

	clock.t = at(103)
	sup.ServerReady("policy_model")
	clock.t = at(104)
	sup.Mark("wait_for_servers")
	sup.Finish()
	sup.Finish()

	root, parent := rec.One("gym.startup"), rec.One("gym.startup.server")
	main, work := rec.One("gym.server.startup"), rec.One("gym.server.startup.worker")
	assert.False(t, root.Parent().IsValid())
	assert.Empty(t, attributesOf(root))
	assert.True(t, lenstest.IsChild(root, parent))
	assert.True(t, lenstest.IsChild(parent, main) && lenstest.IsChild(parent, work), "main and worker are siblings")
	assert.Equal(t, map[string]any{"nemo.gym.server.name": "policy_model", "nemo.gym.server.type": "responses_api_models"}, attributesOf(parent))
	assert.Equal(t, false, attributesOf(main)["nemo.gym.server.worker"])
	assert.Equal(t, true, attributesOf(work)["nemo.gym.server.worker"])
	assert.Positive(t, attributesOf(work)["process.pid"])
	for _, name := range []string{"load_config", "spawn_servers", "wait_for_servers"} {
		s := rec.One("gym.startup." + name)
		assert.True(t, lenstest.IsChild(root, s), name)
		assert.Equal(t, map[string]any{"nemo.gym.startup.stage": name}, attributesOf(s))
	}
	assert.True(t, root.StartTime().Equal(at(91)) && root.EndTime().Equal(at(104)))
	assert.True(t, parent.StartTime().Equal(at(91)) && parent.EndTime().Equal(at(103)))
	for _, s := range rec.Ended() {
		assert.Equal(t, root.SpanContext().TraceID(), s.SpanContext().TraceID(), s.Name())
	}
	workers := make(map[any]int)
	for _, p := range m.histogram("gym.server.startup_stage_duration_ms") {
		workers[attributesOfSet(p.Attributes)["nemo.gym.server.worker"]]++
	}
	assert.Equal(t, map[any]int{true: 1, false: 1}, workers, "both series are there")
}

func TestStartup81ServerReady(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t) // the group is off
	clock := clockAt(0)
	sup := newSupervisorTimeline(lookupIn([]string{telemetryOn}), clock.now)
	sup.BeginTrace()
	env := sup.ServerEnv("policy_model", ServerTypeModel)
	require.Len(t, env, 1, "no traceparent without a span")
	assert.True(t, strings.HasPrefix(env[0], StartupSpawnEnv+"="))
	clock.advance(secs(3))
	sup.ServerReady("stranger")
	sup.ServerReady("policy_model")
	clock.advance(secs(3))
	sup.ServerReady("policy_model")
	sup.Finish()
	points := m.histogram("gym.server.startup_duration_ms")
	require.Len(t, points, 1)
	assert.EqualValues(t, 1, points[0].Count)
	assert.InDelta(t, 3000, points[0].Sum, 0)
	assert.Equal(t, map[string]any{"nemo.gym.server.name": "policy_model", "nemo.gym.server.type": "responses_api_models"}, attributesOfSet(points[0].Attributes))
	assert.Empty(t, rec.Ended())
}

func TestStartup83Announce(t *testing.T) {
	reset(t)
	clearEnv(t)
	t.Setenv("NEMO_GYM_OTEL_ENABLED", "1")
	line := NewServerTimeline("s", "", false)
	before := time.Now().UnixNano()
	line.AnnounceServing()
	stamp, err := strconv.ParseInt(os.Getenv(StartupServeEnv), 10, 64)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, stamp, before)
	assert.LessOrEqual(t, stamp, time.Now().UnixNano())
}

func TestStartup84ReportWhenServing(t *testing.T) {
	reset(t)
	rec := lenstest.Start(t, Startup)
	line, clock := serverLine(false)
	clock.advance(secs(1))
	line.Mark("init_server")
	type key struct{}
	got := make(chan any, 1)
	srv := &http.Server{
		BaseContext: func(net.Listener) context.Context { return context.WithValue(context.Background(), key{}, "kept") },
		Handler:     http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Context().Value(key{}) }),
	}
	line.ReportWhenServing(srv, StageListen)
	assert.Empty(t, rec.Ended(), "nothing before it serves")
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	served := make(chan error, 1)
	clock.advance(secs(1))
	go func() { served <- srv.Serve(l) }()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
		}}}
	res, err := client.Get("http://server/")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.NoError(t, srv.Shutdown(context.Background()))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
	assert.Equal(t, "kept", <-got, "the hook that was there still runs")
	assert.Equal(t, []string{"init_server", "listen"}, names(line.Stages()))
	rec.One("gym.server.startup.listen")
	rec.One("gym.server.startup")

	// Without a hook there is a context all the same.
	plain, other := new(http.Server), line
	other.ReportWhenServing(plain, "x")
	assert.NotNil(t, plain.BaseContext(l))
}

// A start-up that fails leaves its spans to the shutdown.
func TestSupervisorThatFails(t *testing.T) {
	reset(t)
	rec := lenstest.Start(t, Startup)
	sup := newSupervisorTimeline(lookupIn([]string{telemetryOn}), wallClock)
	sup.BeginTrace()
	sup.ServerEnv("s", "")
	assert.Len(t, rec.Open(), 2)
	require.NoError(t, rec.Handle().Shutdown(context.Background()))
	for _, name := range []string{"gym.startup", "gym.startup.server"} {
		assert.Equal(t, true, attributesOf(rec.One(name))["nemo.span.truncated"])
	}
}

func TestSupervisorRestartsAServer(t *testing.T) {
	m := withMetrics(t, "")
	rec := lenstest.Start(t, Startup)
	sup := newSupervisorTimeline(lookupIn([]string{telemetryOn}), wallClock)
	sup.BeginTrace()
	sup.ServerEnv("s", "")
	sup.ServerEnv("s", "")
	sup.ServerReady("s")
	sup.Finish()
	assert.Len(t, rec.Named("gym.startup.server"), 2)
	assert.Empty(t, rec.Open())
	assert.EqualValues(t, 1, m.histogram("gym.server.startup_duration_ms")[0].Count)
}
