package guard

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exportFunc is an exporter.
type exportFunc func(context.Context, []sdktrace.ReadOnlySpan) error

func (f exportFunc) ExportSpans(ctx context.Context, s []sdktrace.ReadOnlySpan) error {
	return f(ctx, s)
}
func (exportFunc) Shutdown(context.Context) error { return nil }

// wire is what the OTLP exporter makes of spans, request by request.
type wire struct {
	mu       sync.Mutex
	requests [][]*tracepb.ResourceSpans
}

func (*wire) Start(context.Context) error { return nil }
func (*wire) Stop(context.Context) error  { return nil }

func (w *wire) UploadTraces(_ context.Context, rs []*tracepb.ResourceSpans) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, rs)
	return nil
}

func (w *wire) spans() []*tracepb.Span {
	var out []*tracepb.Span
	for _, r := range w.requests {
		out = append(out, spansOf(r)...)
	}
	return out
}

func spansOf(rs []*tracepb.ResourceSpans) []*tracepb.Span {
	var out []*tracepb.Span
	for _, r := range rs {
		for _, ss := range r.ScopeSpans {
			out = append(out, ss.Spans...)
		}
	}
	return out
}

// otlp returns the real OTLP exporter in front of a wire.
func otlp(t testing.TB) (sdktrace.SpanExporter, *wire) {
	t.Helper()
	w := &wire{}
	exp, err := otlptrace.New(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return exp, w
}

var testResource = resource.NewSchemaless(attribute.String("service.name", "test"), attribute.Int("rank", 3))

// stub is a plain valid span.
func stub(i int, attrs ...attribute.KeyValue) tracetest.SpanStub {
	return tracetest.SpanStub{
		Name: fmt.Sprint("span ", i),
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1, byte(i >> 8), byte(i)}, SpanID: trace.SpanID{2, byte(i >> 8), byte(i)}, TraceFlags: 1,
		}),
		SpanKind: trace.SpanKindInternal, StartTime: time.Unix(1, 0), EndTime: time.Unix(2, 0),
		Attributes: attrs, Resource: testResource,
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "1"},
	}
}

func stubs(n int, attrs ...attribute.KeyValue) []sdktrace.ReadOnlySpan {
	var out tracetest.SpanStubs
	for i := range n {
		out = append(out, stub(i, attrs...))
	}
	return out.Snapshots()
}

// rich returns a span with text s in every place that can hold some, and t in
// those for keys.
func rich(s, key string) tracetest.SpanStub {
	k := attribute.Key(key)
	attrs := []attribute.KeyValue{
		k.String(s), attribute.StringSlice(key+"1", []string{"fine", s}), attribute.StringSlice(key+"4", []string{"a", "b", "c", s, "e"}),
		{Key: k + "any", Value: attribute.SliceValue(attribute.StringValue(s), attribute.MapValue(k.String(s), attribute.Bool("b", true)))},
		{Key: k + "any7", Value: attribute.SliceValue(attribute.IntValue(1), attribute.IntValue(2), attribute.Value{}, attribute.Float64Value(4),
			attribute.BoolValue(true), attribute.StringSliceValue([]string{s}), attribute.ByteSliceValue([]byte("\xff")))},
		{Key: k + "map", Value: attribute.MapValue(k.StringSlice([]string{s, s}))},
		{Key: k + "bytes", Value: attribute.ByteSliceValue([]byte{0xff, 0xfe})},
		attribute.Int64Slice(key+"ints", []int64{-1, 2, 1 << 60, 4}), attribute.BoolSlice(key+"bools", []bool{true, false, true, false}),
		attribute.Float64Slice(key+"floats", []float64{1, 2, 3, 4}), attribute.Int64(key+"int", -1), attribute.Float64(key+"float", 0.5),
	}
	ts, err := trace.ParseTraceState("vendor=value,other=x")
	if err != nil {
		panic(err)
	}
	sp := stub(1, attrs...)
	sp.Name = s
	sp.SpanContext = sp.SpanContext.WithTraceState(ts)
	sp.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{9}, Remote: true})
	sp.Events = []sdktrace.Event{{Name: s, Attributes: attrs, Time: time.Now(), DroppedAttributeCount: 3}, {Name: "fine"}}
	sp.Links = []sdktrace.Link{{SpanContext: sp.SpanContext, Attributes: attrs, DroppedAttributeCount: 1}, {}}
	sp.Status = sdktrace.Status{Code: codes.Error, Description: s}
	sp.DroppedAttributes, sp.DroppedEvents, sp.DroppedLinks = 1, 2, 3
	sp.InstrumentationScope = instrumentation.Scope{Name: s, Version: s, SchemaURL: s, Attributes: attribute.NewSet(attrs...)}
	sp.Resource = resource.NewWithAttributes(s, attrs...)
	return sp
}
