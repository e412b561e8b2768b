package otlp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/nemo-lens/lens/internal/export/guard"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
)

// kept is what OpenTelemetry's exporter would send.
type kept struct{ spans []*pb.ResourceSpans }

func (*kept) Start(context.Context) error { return nil }
func (*kept) Stop(context.Context) error  { return nil }
func (k *kept) UploadTraces(_ context.Context, spans []*pb.ResourceSpans) error {
	k.spans = spans
	return nil
}

// upstreamRequest is the request of OpenTelemetry's exporter, with text repaired, and
// with the trace state of links, which it leaves out.
func upstreamRequest(t testing.TB, list []sdktrace.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	t.Helper()
	var k kept
	if err := guard.New(otlptrace.NewUnstarted(&k), guard.Options{TextLimit: -1}).ExportSpans(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	links := map[string][]sdktrace.Link{}
	for _, s := range list {
		id := s.SpanContext().SpanID()
		links[string(id[:])] = s.Links()
	}
	for _, r := range k.spans {
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				for i, l := range span.Links {
					l.TraceState = links[string(span.SpanId)][i].SpanContext.TraceState().String()
				}
			}
		}
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: k.spans}
}

func newBatch(log *report.Log) *spanBatch {
	return &spanBatch{log: log, encoder: encoder{limits: guard.LimitsOf(0)}}
}

func marshalled(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func request(t testing.TB, b *spanBatch, list []sdktrace.ReadOnlySpan) []byte {
	t.Helper()
	return marshalled(t, &collector.ExportTraceServiceRequest{ResourceSpans: encode(b, list)})
}

// maker makes arbitrary spans.
type maker struct{ *rand.Rand }

func (m maker) text() string {
	switch m.IntN(5) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("é世", m.IntN(50))
	}
	return strings.Repeat("x", m.IntN(1<<m.IntN(9))) // lengths of one and of two bytes
}

func (m maker) number() int64 { return int64(m.Uint64()) >> m.IntN(64) }

func (m maker) value(depth int) attribute.Value {
	kinds := 12
	if depth == 0 {
		kinds = 5
	}
	switch m.IntN(kinds) {
	case 0:
		return attribute.StringValue(m.text())
	case 1:
		return attribute.Int64Value(m.number())
	case 2:
		return attribute.Float64Value([]float64{0, -1.5, math.Inf(-1), math.NaN(), 1e300}[m.IntN(5)])
	case 3:
		return attribute.BoolValue(m.IntN(2) == 0)
	case 4:
		return attribute.Value{}
	case 5:
		return attribute.ByteSliceValue([]byte(m.text() + "\xff"))
	case 6:
		return attribute.StringSliceValue(several(m.IntN(4), m.text))
	case 7:
		return attribute.Int64SliceValue(several(m.IntN(40), m.number))
	case 8:
		return attribute.Float64SliceValue(several(m.IntN(4), m.Float64))
	case 9:
		return attribute.BoolSliceValue(several(m.IntN(4), func() bool { return m.IntN(2) == 0 }))
	case 10:
		return attribute.SliceValue(several(m.IntN(4), func() attribute.Value { return m.value(depth - 1) })...)
	default:
		return attribute.MapValue(m.attributes(depth - 1)...)
	}
}

func several[T any](n int, f func() T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f()
	}
	return out
}

func (m maker) attributes(depth int) []attribute.KeyValue {
	return several(m.IntN(5), func() attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(m.text()), Value: m.value(depth)}
	})
}

func (m maker) context() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.TraceFlags(m.IntN(256)), Remote: m.IntN(2) == 0}
	for i := range c.TraceID {
		c.TraceID[i] = byte(m.IntN(256))
	}
	for i := range c.SpanID {
		c.SpanID[i] = byte(m.IntN(256))
	}
	if m.IntN(2) == 0 {
		c.TraceState, _ = trace.ParseTraceState("vendor=" + strings.Repeat("v", 1+m.IntN(200)) + ",other=x")
	}
	return trace.NewSpanContext(c)
}

func (m maker) time() time.Time {
	if m.IntN(8) == 0 {
		return []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 0)}[m.IntN(3)]
	}
	return time.Unix(m.Int64N(1<<33), m.Int64N(1e9))
}

func (m maker) dropped() int { return []int{0, 0, 1, 300, -1, math.MaxInt32}[m.IntN(6)] }

func (m maker) span(res *resource.Resource, scopes []instrumentation.Scope) tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: m.text(), SpanContext: m.context(), SpanKind: trace.SpanKind(m.IntN(8) - 1), StartTime: m.time(), EndTime: m.time(),
		Attributes: m.attributes(3), DroppedAttributes: m.dropped(), DroppedEvents: m.dropped(), DroppedLinks: m.dropped(),
		Status:   sdktrace.Status{Code: codes.Code(m.IntN(4)), Description: m.text()},
		Resource: res, InstrumentationScope: scopes[m.IntN(len(scopes))],
	}
	if m.IntN(2) == 0 {
		s.Parent = m.context()
	}
	s.Events = several(m.IntN(4), func() sdktrace.Event {
		return sdktrace.Event{Name: m.text(), Time: m.time(), Attributes: m.attributes(1), DroppedAttributeCount: m.dropped()}
	})
	s.Links = several(m.IntN(3), func() sdktrace.Link {
		return sdktrace.Link{SpanContext: m.context(), Attributes: m.attributes(1), DroppedAttributeCount: m.dropped()}
	})
	return s
}

// batch makes spans of one resource and several scopes.
func (m maker) batch() tracetest.SpanStubs {
	res := resource.NewWithAttributes(m.text(), m.attributes(2)...)
	scopes := append(several(1+m.IntN(3), func() instrumentation.Scope {
		return instrumentation.Scope{Name: m.text(), Version: m.text(), SchemaURL: m.text(), Attributes: attribute.NewSet(m.attributes(1)...)}
	}), instrumentation.Scope{})
	return several(1+m.IntN(6), func() tracetest.SpanStub { return m.span(res, scopes) })
}

func wantUpstream(t *testing.T, b *spanBatch, list []sdktrace.ReadOnlySpan, seed uint64) {
	t.Helper()
	want, got := upstreamRequest(t, list), request(t, b, list)
	if bytes.Equal(got, marshalled(t, want)) {
		return
	}
	var ours collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(got, &ours); err != nil {
		t.Fatalf("seed %d: the bytes are not a request: %v", seed, err)
	}
	t.Fatalf("seed %d: upstream:\n%s\nlens:\n%s", seed, prototext.Format(want), prototext.Format(&ours))
}

// The bytes are those of OpenTelemetry's exporter, with the trace state of links (FB7)
// beside them.
func TestSpansAreAsUpstream(t *testing.T) {
	t.Parallel()
	b := newBatch(nil)
	for seed := range uint64(600) {
		m := maker{rand.New(rand.NewPCG(seed, 1))}
		wantUpstream(t, b, m.batch().Snapshots(), seed)
	}
}

func FuzzSpansAreAsUpstream(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, c uint64) {
		m := maker{rand.New(rand.NewPCG(a, c))}
		wantUpstream(t, newBatch(nil), m.batch().Snapshots(), a)
	})
}

// Messages of every length around those at which the length takes another byte.
func TestLengthsOfLengths(t *testing.T) {
	t.Parallel()
	b := newBatch(nil)
	b.limits = guard.LimitsOf(-1)
	for _, around := range []int{0, 127, 1 << 14, 1 << 16} {
		for n := max(0, around-150); n < around+30; n++ {
			s := tracetest.SpanStub{Name: "x", Attributes: []attribute.KeyValue{attribute.String("k", strings.Repeat("x", n))}, Resource: resource.Empty()}
			wantUpstream(t, b, tracetest.SpanStubs{s}.Snapshots(), uint64(n))
		}
	}
}

// Spans of several resources, in any order, are grouped by resource and then scope.
func TestSpansAreGrouped(t *testing.T) {
	t.Parallel()
	resources := []*resource.Resource{
		resource.NewSchemaless(attribute.Int("r", 0)), resource.NewSchemaless(attribute.Int("r", 1)), resource.NewSchemaless(attribute.Int("r", 0)), nil}
	var list tracetest.SpanStubs
	for i := range 60 {
		list = append(list, tracetest.SpanStub{Name: fmt.Sprint(i), Resource: resources[i%4],
			InstrumentationScope: instrumentation.Scope{Name: fmt.Sprint("scope", i%3), Attributes: attribute.NewSet(attribute.Int("a", i%2))}})
	}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(request(t, newBatch(nil), list.Snapshots()), &got); err != nil {
		t.Fatal(err)
	}
	want := upstreamRequest(t, list.Snapshots())
	if len(got.ResourceSpans) != 3 || len(want.ResourceSpans) != 3 {
		t.Fatalf("%d resources, upstream has %d", len(got.ResourceSpans), len(want.ResourceSpans))
	}
	for _, w := range want.ResourceSpans { // in random order
		found := false
		for _, g := range got.ResourceSpans {
			found = found || proto.Equal(g, w)
		}
		if !found {
			t.Errorf("missing: %s", prototext.Format(w))
		}
	}
}

// Bad text anywhere costs itself, and the program hears of it once.
func TestSpanTextIsRepairedAndCut(t *testing.T) {
	t.Parallel()
	const bad = "a\xffb"
	long := strings.Repeat("é", guard.DefaultTextLimit+5)
	attrs := func(s string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(bad, s), attribute.StringSlice("list", []string{"fine", s}),
			attribute.Slice("slice", attribute.StringValue(s), attribute.MapValue(attribute.String(bad, s))), attribute.ByteSlice("bytes", []byte(s))}
	}
	for _, text := range []string{bad, long} {
		s := tracetest.SpanStub{
			Name: text, Attributes: attrs(text), Status: sdktrace.Status{Code: codes.Error, Description: text},
			Events:   []sdktrace.Event{{Name: text, Attributes: attrs(text)}},
			Links:    []sdktrace.Link{{Attributes: attrs(text)}},
			Resource: resource.NewWithAttributes(bad, attrs(bad)...), InstrumentationScope: instrumentation.Scope{
				Name: bad, Version: bad, SchemaURL: bad, Attributes: attribute.NewSet(attrs(bad)...)},
			DroppedAttributes: 12,
		}
		var out strings.Builder
		b := newBatch(report.New(slog.New(slog.NewTextHandler(&out, nil))))
		data := request(t, b, tracetest.SpanStubs{s, s}.Snapshots())
		var got collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		span := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
		want := "a\uFFFDb"
		if text == long {
			want = strings.Repeat("é", guard.DefaultTextLimit)
		}
		for _, s := range []string{
			span.Name, span.Status.Message, span.Attributes[0].Value.GetStringValue(), span.Attributes[1].Value.GetArrayValue().Values[1].GetStringValue(),
			span.Attributes[2].Value.GetArrayValue().Values[1].GetKvlistValue().Values[0].Value.GetStringValue(),
			span.Events[0].Name, span.Events[0].Attributes[0].Value.GetStringValue(), span.Links[0].Attributes[0].Value.GetStringValue(),
		} {
			if s != want {
				t.Errorf("%d characters, want %d", utf8.RuneCountInString(s), utf8.RuneCountInString(want))
			}
		}
		if b := span.Attributes[3].Value.GetBytesValue(); string(b) != text && len(b) != guard.DefaultTextLimit {
			t.Errorf("%d bytes", len(b))
		}
		scope := got.ResourceSpans[0].ScopeSpans[0]
		if got.ResourceSpans[0].SchemaUrl != "a\uFFFDb" || scope.Scope.Name != "a\uFFFDb" || scope.Scope.Attributes[0].Key != "a\uFFFDb" {
			t.Errorf("scope %v of %v", scope.Scope, got.ResourceSpans[0].Resource)
		}
		if s := out.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "was repaired") || !strings.Contains(s, "attributes=12") {
			t.Errorf("log: %.500s", s)
		}
	}
}

// What a large batch needed is not kept.
func TestBatchGivesMemoryBack(t *testing.T) {
	t.Parallel()
	b := newBatch(nil)
	b.limits = guard.LimitsOf(-1)
	encode(b, tracetest.SpanStubs{{Name: "x", Attributes: []attribute.KeyValue{attribute.String("k", strings.Repeat("x", 16<<20))}}}.Snapshots())
	encode(b, spans(1))
	if cap(b.b) > 1<<20 {
		t.Errorf("%d bytes are kept", cap(b.b))
	}
}

// recorded makes spans with the recorder, in ways that its spans tell apart.
func (m maker) recorded() []*record.Span {
	var ended []*record.Span
	p := record.New(record.Settings{
		Resource: resource.NewWithAttributes(m.text(), m.attributes(2)...), Sink: func(s *record.Span) { ended = append(ended, s) },
		Limits: sdktrace.SpanLimits{
			AttributeValueLengthLimit: -1, AttributeCountLimit: 4, EventCountLimit: 2, LinkCountLimit: 1, AttributePerEventCountLimit: 2, AttributePerLinkCountLimit: 2},
	})
	tracers := []trace.Tracer{p.Tracer(""), p.Tracer("scope", trace.WithInstrumentationVersion("1")), p.Tracer("scope", trace.WithInstrumentationAttributes(attribute.Int("a", 1)))}
	for range 1 + m.IntN(6) {
		ctx := context.Background()
		if m.IntN(2) == 0 {
			remote := m.context()
			ctx = trace.ContextWithSpanContext(ctx, remote.WithTraceFlags(remote.TraceFlags().WithSampled(true)))
		}
		var opts []trace.SpanStartOption
		if m.IntN(2) == 0 {
			opts = append(opts, trace.WithTimestamp(m.time()))
		}
		if m.IntN(2) == 0 {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: m.context(), Attributes: m.attributes(1)}, trace.Link{SpanContext: m.context()}))
		}
		opts = append(opts, trace.WithSpanKind(trace.SpanKind(m.IntN(7))), trace.WithAttributes(m.attributes(2)...))
		ctx, parent := tracers[m.IntN(3)].Start(ctx, m.text(), opts...)
		_, child := tracers[m.IntN(3)].Start(ctx, m.text(), trace.WithAttributes(m.attributes(2)...))
		child.SetStatus(codes.Code(m.IntN(3)), m.text())
		for range m.IntN(4) {
			child.AddEvent(m.text(), trace.WithAttributes(m.attributes(1)...))
		}
		child.SetAttributes(m.attributes(1)...)
		child.End()
		if m.IntN(2) == 0 {
			parent.End(trace.WithTimestamp(m.time()))
		} else {
			parent.End()
		}
	}
	return ended
}

// The recorder's spans give the same bytes as what the SDK's exporters see of them.
func TestRecordedSpansAreAsUpstream(t *testing.T) {
	t.Parallel()
	b := newBatch(nil)
	for seed := range uint64(400) {
		list := maker{rand.New(rand.NewPCG(seed, 2))}.recorded()
		var views []sdktrace.ReadOnlySpan
		for _, s := range list {
			views = append(views, s.ReadOnly())
		}
		want := marshalled(t, upstreamRequest(t, views))
		got := marshalled(t, &collector.ExportTraceServiceRequest{ResourceSpans: encode(b, list)})
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: upstream:\n%q\nlens:\n%q", seed, want, got)
		}
	}
}

// A batch costs nothing for each span.
func TestEncodingAllocatesNothingForASpan(t *testing.T) {
	var list []*record.Span
	p := record.New(record.Settings{Sink: func(s *record.Span) { list = append(list, s) }, Limits: sdktrace.NewSpanLimits()})
	for i := range 512 {
		_, s := p.Tracer("scope").Start(t.Context(), "span", trace.WithAttributes(attribute.Int("i", i), attribute.String("key", "value")))
		s.End()
	}
	b := newBatch(nil)
	if n := testing.AllocsPerRun(20, func() { encode(b, list) }); n > 10 {
		t.Errorf("%v allocations for a batch of %d", n, len(list))
	}
}
