package instruments

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/semconv"
)

// What an inference point says of its origin when the call does not.
const (
	DefaultProvider  = "nemo"
	DefaultOperation = "text_completion"
)

// Bucket boundaries that the OpenTelemetry GenAI conventions recommend (v1.41.0),
// in seconds and in tokens.
var (
	genAIDurationBounds = []float64{
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
	}
	genAIFirstTokenBounds = []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
	}
	genAIPerTokenBounds = []float64{
		0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5,
	}
	genAITokenBounds = []float64{
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
	}
)

// InferenceValues is what one model request may report. A number that is not given
// is not recorded.
type InferenceValues struct {
	RequestDuration    OptDuration // seen by the server, to the last byte or token
	TimeToFirstToken   OptDuration // successful responses only, says the convention
	TimePerOutputToken OptDuration // after the first token; successful responses only
	OperationDuration  OptDuration // seen by the client
	InputTokens        OptInt
	OutputTokens       OptInt

	Model     string // gen_ai.request.model; empty: no such attribute
	Provider  string // gen_ai.provider.name; empty: [DefaultProvider]
	Operation string // gen_ai.operation.name; empty: [DefaultOperation]
	// ErrorType is error.type on the two whole durations: a name with few values,
	// such as "timeout", for a request that failed. Empty: no such attribute.
	ErrorType string
}

// Inference records model requests as the OpenTelemetry GenAI conventions name
// them. It is safe for concurrent use; a nil *Inference records nothing.
type Inference struct {
	in     *inferenceInstruments // nil when nothing can be recorded
	attrs  []attribute.KeyValue
	logger *slog.Logger
	warned warnings

	mu     sync.Mutex // serialises additions to series
	series atomic.Pointer[map[seriesName]*series]
}

type inferenceInstruments struct {
	request, firstToken, perToken, operation metric.Float64Histogram
	tokens                                   metric.Int64Histogram
}

// seriesName is what tells the points of one request from those of another.
type seriesName struct{ model, provider, operation, errorType string }

// series holds the attributes of one name in the forms that are recorded.
type series struct {
	whole  points // the two whole durations: with error.type
	plain  points
	input  points // gen_ai.token.type = input
	output points
}

// maxSeries bounds how many names keep their attributes ready. Further ones are
// recorded all the same, at the price of building their attributes each time.
const maxSeries = 512

var inferenceSets perMeter[struct{}, *inferenceInstruments]

// NewInference returns a recorder for meter. With a nil meter, or one that does
// nothing, it records nothing and costs next to nothing. An instrument that cannot
// be created is logged once for each meter and left out. The attributes of
// [WithAttributes], for example server.address, are on every point beside those
// of the convention, which win.
func NewInference(meter metric.Meter, opts ...Option) *Inference {
	o := newOptions(opts)
	i := &Inference{attrs: o.attrs, logger: o.logger}
	if inert(meter) {
		return i
	}
	b := &builder{meter: meter}
	in, built := inferenceSets.get(meter, struct{}{}, func() *inferenceInstruments {
		in := &inferenceInstruments{
			request: b.histogram(def{"gen_ai.server.request.duration", "s",
				"GenAI server request duration.", genAIDurationBounds}),
			firstToken: b.histogram(def{"gen_ai.server.time_to_first_token", "s",
				"Time to generate first token for successful responses.", genAIFirstTokenBounds}),
			perToken: b.histogram(def{"gen_ai.server.time_per_output_token", "s",
				"Time per output token generated after the first token for successful responses.", genAIPerTokenBounds}),
			operation: b.histogram(def{"gen_ai.client.operation.duration", "s",
				"GenAI operation duration.", genAIDurationBounds}),
			tokens: b.intHistogram(def{"gen_ai.client.token.usage", "{token}",
				"Number of input and output tokens used.", genAITokenBounds}),
		}
		if !b.live {
			return nil
		}
		return in
	})
	if built {
		b.report(o.logger, "inference")
	}
	i.in = in
	return i
}

// Record records the values that are given. The trace of ctx, if any, becomes the
// exemplar. Model, Provider, Operation and ErrorType together should take few
// values: each combination is a time series.
func (i *Inference) Record(ctx context.Context, v InferenceValues) {
	if i == nil || i.in == nil {
		return
	}
	i.record(ctx, &v)
}

func (i *Inference) record(ctx context.Context, v *InferenceValues) {
	defer i.warned.recovered(i.logger, "inference")
	s, in := i.seriesOf(v), i.in
	recordSeconds(ctx, in.request, v.RequestDuration, &s.whole)
	recordSeconds(ctx, in.firstToken, v.TimeToFirstToken, &s.plain)
	recordSeconds(ctx, in.perToken, v.TimePerOutputToken, &s.plain)
	recordSeconds(ctx, in.operation, v.OperationDuration, &s.whole)
	if in.tokens == nil {
		return
	}
	if n, ok := v.InputTokens.Get(); ok {
		in.tokens.Record(ctx, n, s.input.record...)
	}
	if n, ok := v.OutputTokens.Get(); ok {
		in.tokens.Record(ctx, n, s.output.record...)
	}
}

func recordSeconds(ctx context.Context, h metric.Float64Histogram, v OptDuration, p *points) {
	if d, ok := v.Get(); ok && h != nil {
		h.Record(ctx, float64(d)/float64(time.Second), p.record...)
	}
}

func (i *Inference) seriesOf(v *InferenceValues) *series {
	name := seriesName{v.Model, v.Provider, v.Operation, v.ErrorType}
	if known := i.series.Load(); known != nil {
		if s := (*known)[name]; s != nil {
			return s
		}
	}
	return i.addSeries(name)
}

// addSeries publishes a new map with name in it, so that readers need no lock.
func (i *Inference) addSeries(name seriesName) *series {
	s := i.newSeries(name)
	i.mu.Lock()
	defer i.mu.Unlock()
	var known map[seriesName]*series
	if p := i.series.Load(); p != nil {
		known = *p
	}
	if other := known[name]; other != nil {
		return other
	}
	if len(known) >= maxSeries {
		return s
	}
	next := make(map[seriesName]*series, len(known)+1)
	maps.Copy(next, known)
	next[name] = s
	i.series.Store(&next)
	return s
}

func (i *Inference) newSeries(name seriesName) *series {
	provider, operation := name.provider, name.operation
	if provider == "" {
		provider = DefaultProvider
	}
	if operation == "" {
		operation = DefaultOperation
	}
	attrs := append([]attribute.KeyValue(nil), i.attrs...)
	attrs = append(attrs,
		semconv.GenAIOperationNameKey.String(operation),
		semconv.GenAIProviderNameKey.String(provider))
	if name.model != "" {
		attrs = append(attrs, semconv.GenAIRequestModelKey.String(name.model))
	}
	attrs = attrs[:len(attrs):len(attrs)] // every append below makes its own copy
	s := &series{
		plain:  newPoints(attrs...),
		input:  newPoints(append(attrs, semconv.GenAITokenTypeKey.String("input"))...),
		output: newPoints(append(attrs, semconv.GenAITokenTypeKey.String("output"))...),
	}
	s.whole = s.plain
	if name.errorType != "" {
		s.whole = newPoints(append(attrs, attribute.String("error.type", name.errorType))...)
	}
	return s
}
