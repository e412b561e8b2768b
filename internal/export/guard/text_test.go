package guard

import (
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestValidText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain": "plain", "héllo, 世界 \U0001F600": "héllo, 世界 \U0001F600", "\uFFFD": "\uFFFD",
		"a\xffb": "a\uFFFDb", "\xff\xfe": "\uFFFD", "cut \xe4\xb8": "cut \uFFFD", "\xed\xa0\x80": "\uFFFD", // a surrogate half
		"\xc0\x80": "\uFFFD", "nul\x00": "nul\x00",
	} {
		if got := ValidText(in); got != want {
			t.Errorf("ValidText(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"世界你好", 4, "世界你好"}, {"世界你好", 3, "世界你"}, {"世界", 0, ""}, {"", 0, ""}, {"abc", -1, "abc"},
		{"a\xff\xffb", 3, "a\xff\xff"}, {"a\xff\xffb", 2, "a\xff"}, {"é", 1, "é"},
	} {
		if got := cutText(c.in, c.limit); got != c.want {
			t.Errorf("cutText(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\xffb", "\xe4\xb8", "世界你好", "\xed\xa0\x80", strings.Repeat("x", 100)} {
		f.Add(s, 3)
		f.Add(s, -1)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := FixText(s, limit)
		if !utf8.ValidString(got) {
			t.Errorf("FixText(%q, %d) = %q is not valid", s, limit, got)
		}
		if limit >= 0 && utf8.RuneCountInString(got) > limit {
			t.Errorf("FixText(%q, %d) = %q is too long", s, limit, got)
		}
		if again := FixText(got, limit); again != got {
			t.Errorf("fixText twice: %q, then %q", got, again)
		}
		// Whatever it is, it arrives.
		exp, w := otlp(t)
		if err := New(exp, Options{}).ExportSpans(t.Context(), tracetest.SpanStubs{rich(s, "k"+s), stub(2)}.Snapshots()); err != nil {
			t.Fatal(err)
		}
		for _, r := range w.requests {
			if _, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: r}); err != nil {
				t.Errorf("span with %q: %v", s, err)
			}
		}
		if n := len(w.spans()); n != 2 {
			t.Errorf("%d spans of 2", n)
		}
	})
}

// TestOneBadByteCostsNothing encodes spans with bad bytes everywhere the way the
// exporter does, and checks that nothing but the bad text differs from what the
// same spans without bad bytes give.
func TestOneBadByteCostsNothing(t *testing.T) {
	t.Parallel()
	bad, badKey := "a\xffb", "k\xfe"
	good, goodKey := "a\uFFFDb", "k\uFFFD"

	raw, w := otlp(t)
	if err := raw.ExportSpans(t.Context(), tracetest.SpanStubs{rich(bad, badKey)}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	if _, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: w.requests[0]}); err == nil {
		t.Fatal("protobuf accepts bad bytes: this test shows nothing")
	}

	exp, w := otlp(t)
	in := tracetest.SpanStubs{stub(0), rich(bad, badKey), stub(2), rich(good, goodKey)}
	spans := in.Snapshots()
	if err := New(exp, Options{}).ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	data := &tracepb.TracesData{ResourceSpans: w.requests[0]}
	if _, err := proto.Marshal(data); err != nil {
		t.Fatal(err)
	}
	// The repaired span and the one that was written that way share resource and
	// scope, and are equal but for the time of their event.
	var twins []*tracepb.Span
	for _, rs := range w.requests[0] {
		for _, ss := range rs.ScopeSpans {
			if len(ss.Spans) == 2 && ss.Spans[0].Name == good {
				twins = ss.Spans
			}
		}
	}
	if len(twins) != 2 || len(w.spans()) != 4 {
		t.Fatalf("spans missing or in other groups: %s", prototext.Format(data))
	}
	twins[1].Events[0].TimeUnixNano = twins[0].Events[0].TimeUnixNano
	if !proto.Equal(twins[0], twins[1]) {
		t.Errorf("repaired\n%s\nwritten\n%s", prototext.Format(twins[0]), prototext.Format(twins[1]))
	}
	if got := spans[1].Name(); got != bad {
		t.Errorf("the caller's slice or span was written to: %q", got)
	}
}

// TestEachPlaceAlone puts the bad byte into one place at a time, so that no other
// place causes the repair.
func TestEachPlaceAlone(t *testing.T) {
	t.Parallel()
	const bad = "a\xffb"
	key := attribute.Key(bad)
	values := map[string]attribute.KeyValue{
		"key": key.Int(1), "value": attribute.String("k", bad), "slice": attribute.StringSlice("k", []string{"x", bad}),
		"long slice": attribute.StringSlice("k", []string{"a", "b", "c", "d", bad}),
		"nested":     {Key: "k", Value: attribute.SliceValue(attribute.MapValue(attribute.StringSlice("x", []string{bad})))},
		"map key":    {Key: "k", Value: attribute.MapValue(key.Int(1))},
	}
	places := map[string]func(*tracetest.SpanStub){
		"name":          func(s *tracetest.SpanStub) { s.Name = bad },
		"status":        func(s *tracetest.SpanStub) { s.Status.Description = bad },
		"event":         func(s *tracetest.SpanStub) { s.Events = []sdktrace.Event{{}, {Name: bad}} },
		"scope name":    func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = bad },
		"scope version": func(s *tracetest.SpanStub) { s.InstrumentationScope.Version = bad },
		"scope schema":  func(s *tracetest.SpanStub) { s.InstrumentationScope.SchemaURL = bad },
		"schema":        func(s *tracetest.SpanStub) { s.Resource = resource.NewWithAttributes(bad) },
	}
	for name, kv := range values {
		places["span "+name] = func(s *tracetest.SpanStub) { s.Attributes = []attribute.KeyValue{kv} }
		places["event "+name] = func(s *tracetest.SpanStub) { s.Events = []sdktrace.Event{{Attributes: []attribute.KeyValue{kv}}} }
		places["link "+name] = func(s *tracetest.SpanStub) { s.Links = []sdktrace.Link{{Attributes: []attribute.KeyValue{kv}}} }
		places["scope "+name] = func(s *tracetest.SpanStub) { s.InstrumentationScope.Attributes = attribute.NewSet(kv) }
		places["resource "+name] = func(s *tracetest.SpanStub) { s.Resource = resource.NewSchemaless(kv) }
	}
	for place, put := range places {
		in := stub(1)
		put(&in)
		exp, w := otlp(t)
		if err := New(exp, Options{}).ExportSpans(t.Context(), tracetest.SpanStubs{stub(0), in}.Snapshots()); err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		data := &tracepb.TracesData{ResourceSpans: w.requests[0]}
		if _, err := proto.Marshal(data); err != nil {
			t.Errorf("%s: %v", place, err)
		} else if text := data.String(); len(w.spans()) != 2 || !strings.Contains(text, "a\uFFFDb") {
			t.Errorf("%s: %d spans: %s", place, len(w.spans()), text)
		}
	}
}

// TestTraceStateIsASCII is why trace state is not repaired.
func TestTraceStateIsASCII(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a=\xff", "a=é", "\xff=b", "a=\x00"} {
		if ts, err := trace.ParseTraceState(s); err == nil {
			t.Errorf("ParseTraceState(%q) accepts %v", s, ts)
		}
		if k, v, _ := strings.Cut(s, "="); true {
			if ts, err := (trace.TraceState{}).Insert(k, v); err == nil {
				t.Errorf("Insert(%q, %q) accepts %v", k, v, ts)
			}
		}
	}
}

// TestTextLimits: 100 kB of text in each place, cut to 10 characters.
func TestTextLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("世", 100_000)
	in := rich(long, "k")
	in.Resource, in.InstrumentationScope = stub(0).Resource, stub(0).InstrumentationScope // have no limit
	spans := tracetest.SpanStubs{in}.Snapshots()
	exp, w := otlp(t)
	if err := New(exp, Options{TextLimit: 10}).ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	s := w.spans()[0]
	want := strings.Repeat("世", 10)
	if s.Status.Message != want {
		t.Errorf("status has %d bytes", len(s.Status.Message))
	}
	if n := utf8.RuneCountInString(s.Name); n != minNameLimit {
		t.Errorf("the name has %d characters, want %d", n, minNameLimit)
	}
	if n := utf8.RuneCountInString(s.Events[0].Name); n != minNameLimit {
		t.Errorf("the event's name has %d characters, want %d", n, minNameLimit)
	}
	for name, attrs := range map[string]string{
		"span": prototext.Format(&tracepb.Span{Attributes: s.Attributes}), "event": prototext.Format(&tracepb.Span{Attributes: s.Events[0].Attributes}),
		"link": prototext.Format(&tracepb.Span{Attributes: s.Links[0].Attributes}),
	} {
		if !strings.Contains(attrs, want) || strings.Contains(attrs, want+"世") {
			t.Errorf("attributes of the %s are not cut: %.2000s", name, attrs)
		}
	}

	exp, w = otlp(t)
	if err := New(exp, Options{TextLimit: -1}).ExportSpans(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	if s := w.spans()[0]; s.Name != long || s.Status.Message != long {
		t.Error("text was cut without a limit")
	}
}

func TestBytesAreCutToo(t *testing.T) {
	t.Parallel()
	exp, w := otlp(t)
	in := stub(1, attribute.KeyValue{Key: "b", Value: attribute.ByteSliceValue(make([]byte, 100))},
		attribute.KeyValue{Key: "m", Value: attribute.MapValue(attribute.KeyValue{Key: "b", Value: attribute.ByteSliceValue(make([]byte, 100))})})
	if err := New(exp, Options{TextLimit: 10}).ExportSpans(t.Context(), tracetest.SpanStubs{in}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	got := w.spans()[0].Attributes
	if n := len(got[0].Value.GetBytesValue()); n != 10 {
		t.Errorf("%d bytes", n)
	}
	if n := len(got[1].Value.GetKvlistValue().Values[0].Value.GetBytesValue()); n != 10 {
		t.Errorf("%d bytes in the map", n)
	}
}

func TestFixAttributes(t *testing.T) {
	t.Parallel()
	good := rich("good", "k").Attributes
	if got := fixed(good); &got[0] != &good[0] {
		t.Error("valid attributes were copied")
	}
	bad := rich("a\xffb", "k\xfe").Attributes
	got := fixed(bad)
	if bad[0].Value.AsString() != "a\xffb" {
		t.Error("the argument was changed")
	}
	want := rich("a\uFFFDb", "k\uFFFD").Attributes
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %v = %s, want %v = %s", i, got[i].Key, got[i].Value.String(), want[i].Key, want[i].Value.String())
		}
	}
	if fixed(nil) != nil {
		t.Error("nil became something")
	}
}

func TestCleanResource(t *testing.T) {
	t.Parallel()
	if CleanResource(testResource) != testResource {
		t.Error("a valid resource was replaced")
	}
	if got := CleanResource(nil); got.Len() != 0 {
		t.Errorf("nil became %v", got)
	}
	got := CleanResource(resource.NewWithAttributes("s\xff", attribute.String("a\xff", "b\xff")))
	if want := resource.NewWithAttributes("s\uFFFD", attribute.String("a\uFFFD", "b\uFFFD")); !got.Equal(want) || got.SchemaURL() != want.SchemaURL() {
		t.Errorf("got %v (%s)", got, got.SchemaURL())
	}
}

func fixed(attrs []attribute.KeyValue) []attribute.KeyValue {
	out, _ := fixAttributes(attrs, -1)
	return out
}

// TestIsValid has every length up to beyond the words, with a bad or a long character at
// every place.
func TestIsValid(t *testing.T) {
	for n := range 80 {
		text := strings.Repeat("a", n)
		if !isValid(text) {
			t.Errorf("%d letters are valid", n)
		}
		for at := range n {
			for _, mark := range []string{"\xff", "\x80", "é", "€"} {
				if s := text[:at] + mark + text[at+1:]; isValid(s) != utf8.ValidString(s) {
					t.Errorf("isValid(%q) is %v", s, isValid(s))
				}
			}
		}
	}
}
