package guard

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// size is what one request of spans really takes.
func size(t testing.TB, spans []sdktrace.ReadOnlySpan) int {
	t.Helper()
	exp, w := otlp(t)
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	return proto.Size(&coltracepb.ExportTraceServiceRequest{ResourceSpans: w.requests[0]})
}

func estimate(t testing.TB, spans []sdktrace.ReadOnlySpan) int {
	t.Helper()
	e := New(nil, Options{TextLimit: -1}).(*exporter)
	n := 0
	var last group
	for i, s := range spans {
		g := group{s.Resource(), s.InstrumentationScope()}
		if i == 0 || !g.same(&last) {
			once, dirty := e.measure(&g)
			if dirty {
				t.Fatal("valid group called dirty")
			}
			n += once
			last = g
		}
		z := sizer{TextLimits: TextLimits{-1, -1}}
		n += z.span(s)
		if z.dirty {
			t.Fatal("valid span called dirty")
		}
	}
	return n
}

func TestEstimateIsCloseFromAbove(t *testing.T) {
	t.Parallel()
	for name, spans := range map[string][]sdktrace.ReadOnlySpan{
		"empty":  tracetest.SpanStubs{{}}.Snapshots(),
		"plain":  stubs(100, attribute.String("key", "value"), attribute.Int("step", 7)),
		"rich":   tracetest.SpanStubs{rich("text", "key"), rich("text", "key")}.Snapshots(),
		"long":   stubs(3, attribute.String("key", strings.Repeat("x", 1<<20))),
		"slices": stubs(10, attribute.StringSlice("s", strings.Split(strings.Repeat("abc ", 1000), " "))),
	} {
		real, est := size(t, spans), estimate(t, spans)
		if est < real || est > real+real/2+64*len(spans)+64 {
			t.Errorf("%s: estimated %d, really %d", name, est, real)
		}
	}
}

// FuzzEstimate checks the direction that matters: never below the real size.
func FuzzEstimate(f *testing.F) {
	f.Add("name", "key", int64(-1), uint16(3), uint16(5))
	f.Add("", "", int64(0), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, name, key string, n int64, slice, repeat uint16) {
		name, key = ValidText(name), ValidText(key)
		sp := rich(strings.Repeat(name, int(repeat%300)), key)
		sp.Attributes = append(sp.Attributes, attribute.Int64(key+"n", n), attribute.Int64Slice("ns", make([]int64, slice%1000)),
			attribute.StringSlice("ts", strings.Split(strings.Repeat(name+",", int(slice%50)), ",")))
		spans := tracetest.SpanStubs{sp, stub(1), sp}.Snapshots()
		if real, est := size(t, spans), estimate(t, spans); est < real {
			t.Errorf("estimated %d, really %d", est, real)
		}
	})
}

// TestStoredAndCopiedAgree holds the reading in place against the public methods,
// and fails when a new release of the API stores values another way.
func TestStoredAndCopiedAgree(t *testing.T) {
	t.Parallel()
	if !layout.known {
		t.Fatal("attribute.Value of this release is not known: slices and maps cost an allocation")
	}
	for _, text := range []string{"text", "a\xffb", strings.Repeat("x", 100)} {
		for i := range rich(text, "key").Attributes {
			v := &rich(text, "key").Attributes[i].Value
			in, out := sizer{TextLimits: TextLimits{Value: 50}}, sizer{TextLimits: TextLimits{Value: 50}}
			n := in.anyValue(v, 50)
			m := n
			switch v.Type() {
			case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE, attribute.MAP:
				m = out.copied(*v, 50)
			default:
				out.dirty = in.dirty
			}
			if n != m || in.dirty != out.dirty {
				t.Errorf("%s: in place %d (dirty %v), copied %d (dirty %v)", v.Type(), n, in.dirty, m, out.dirty)
			}
		}
	}
}

// TestManyGroups: what counts twice for lack of memory still fits.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	var in tracetest.SpanStubs
	for i := range 400 {
		s := stub(i, attribute.String("k", strings.Repeat("x", 500)))
		s.InstrumentationScope = instrumentation.Scope{Name: fmt.Sprint("scope ", i%20), Attributes: attribute.NewSet(attribute.Int("i", i%20))}
		in = append(in, s)
	}
	const limit = 20_000
	exp, w := otlp(t)
	if err := New(exp, Options{RequestBytes: limit}).ExportSpans(t.Context(), in.Snapshots()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.spans()); n != 400 {
		t.Errorf("%d spans arrived of 400", n)
	}
	for i, r := range w.requests {
		n := proto.Size(&coltracepb.ExportTraceServiceRequest{ResourceSpans: r})
		if n > limit || n < limit/2 && i < len(w.requests)-1 {
			t.Errorf("request %d has %d bytes, limit %d", i, n, limit)
		}
	}
}
