package gym

import (
	"errors"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// The names of the instruments that count outcomes.
const (
	metricRolloutsCompleted = "gym.rollout.completed_total"
	metricHTTPTimeouts      = "gym.http.timeout_total"
	metricHTTPRetries       = "gym.http.retry_total"
	metricModelDuration     = "gym.model_call.duration_ms"
	metricModelTTFT         = "gym.model_call.ttft_ms"
	metricModelTokens       = "gym.model_call.tokens"
	metricModelFinish       = "gym.model_call.finish_total"
	unitTokens              = "{token}"
)

// The bucket bounds, in milliseconds and in tokens.
var (
	modelDurationBounds = []float64{100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000}
	modelTTFTBounds     = []float64{50, 100, 250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 120000, 300000}
	modelTokenBounds    = []float64{16, 64, 256, 1024, 4096, 16384, 32768, 65536, 131072, 262144, 524288, 1048576}
)

// counters are the instruments of outcomes on one meter.
type counters struct {
	rollouts, timeouts, retries, finish metric.Int64Counter
	duration, ttft                      metric.Float64Histogram
	tokens                              metric.Int64Histogram
}

func newCounters(m metric.Meter) (*counters, error) {
	var errs [7]error
	c := new(counters)
	counter := func(name, text string) (metric.Int64Counter, error) {
		return m.Int64Counter(name, metric.WithUnit(unitDimensionless), metric.WithDescription(text))
	}
	duration := func(name, text string, bounds []float64) (metric.Float64Histogram, error) {
		return m.Float64Histogram(name, metric.WithUnit(unitMilliseconds), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(bounds...))
	}
	c.rollouts, errs[0] = counter(metricRolloutsCompleted, "Rollouts that came to an end, by what became of them.")
	c.timeouts, errs[1] = counter(metricHTTPTimeouts, "Requests that ran out of time.")
	c.retries, errs[2] = counter(metricHTTPRetries, "Requests that were sent again.")
	c.finish, errs[3] = counter(metricModelFinish, "Answers of a model, by why they ended.")
	c.duration, errs[4] = duration(metricModelDuration, "Time of a call of a model, to the end of the answer.", modelDurationBounds)
	c.ttft, errs[5] = duration(metricModelTTFT, "Time from a call of a model to the first piece of a streamed answer.", modelTTFTBounds)
	c.tokens, errs[6] = m.Int64Histogram(metricModelTokens, metric.WithUnit(unitTokens), metric.WithDescription("Tokens of a call of a model, where it reports them."),
		metric.WithExplicitBucketBoundaries(modelTokenBounds...))
	return c, errors.Join(errs[:]...)
}

// count calls f with the counters when metrics are exported.
func count(f func(*counters)) {
	if t, err := active(); err == nil {
		t.count(f)
	}
}

func (t *telemetry) count(f func(*counters)) {
	if c := t.shared.counters.get(func() (*counters, error) { return newCounters(t.meter) }); c != nil {
		guarded(func() { f(c) })
	}
}

const (
	labelOther   = "other"
	labelUnknown = "unknown"

	maxLabelBytes = 64
	maxLabels     = 128
)

// labels bounds the values of an attribute that come from elsewhere: only those
// that are one short word, and only so many of them in a process.
type labels struct {
	mu    sync.Mutex
	known map[string]bool
}

// of returns the value, or "other".
func (l *labels) of(value string) string {
	if !isLabel(value) {
		return labelOther
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.known[value]:
	case len(l.known) >= maxLabels:
		return labelOther
	case l.known == nil:
		l.known = map[string]bool{value: true}
	default:
		l.known[value] = true
	}
	return value
}

// isLabel keeps sentences, and what else could hold a secret, out of attributes.
func isLabel(s string) bool {
	if s == "" || len(s) > maxLabelBytes {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-.:/", c) >= 0) {
			return false
		}
	}
	return true
}
