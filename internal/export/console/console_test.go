package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

const childEnv = "CONSOLE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}

var nan, inf = math.NaN(), math.Inf(1)

// sink counts writes and refuses them while err is set.
type sink struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	writes int
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes++
	return s.buf.Write(p)
}

// lines parses every line and fails the test when one is not a JSON object.
func (s *sink) lines(t *testing.T) []map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []map[string]any
	for l := range strings.Lines(s.buf.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatalf("%v in %.300q", err, l)
		}
		out = append(out, m)
	}
	if s.writes != len(out) {
		t.Errorf("%d writes for %d lines", s.writes, len(out))
	}
	return out
}

func spanWith(attrs ...attribute.KeyValue) tracetest.SpanStub {
	attrs = slices.Clone(attrs) // NewSet sorts its argument
	return tracetest.SpanStub{
		Name:        "span",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}),
		StartTime:   time.Unix(1, 0).UTC(), EndTime: time.Unix(2, 0).UTC(),
		Attributes: attrs, Status: sdktrace.Status{Code: codes.Error, Description: "broken <&>\nline"},
		Events:               []sdktrace.Event{{Name: "event", Attributes: attrs, Time: time.Unix(1, 5).UTC()}, {Name: "plain"}, {Name: "event 3", Attributes: attrs}},
		Links:                []sdktrace.Link{{Attributes: attrs}, {}, {Attributes: attrs}},
		Resource:             resource.NewSchemaless(slices.Clone(attrs)...),
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "1", Attributes: attribute.NewSet(slices.Clone(attrs)...)},
	}
}

func spanExporterTo(t *testing.T, s *sink) sdktrace.SpanExporter {
	t.Helper()
	exp, err := NewSpanExporter(s)
	if err != nil {
		t.Fatal(err)
	}
	return exp
}

// TestSameAsStdouttrace: where stdouttrace succeeds, not a byte differs.
func TestSameAsStdouttrace(t *testing.T) {
	t.Parallel()
	spans := tracetest.SpanStubs{spanWith(attribute.String("k", "v\xff"), attribute.Float64("f", 0.25),
		attribute.Float64Slice("fs", []float64{1, 2}), attribute.KeyValue{Key: "m", Value: attribute.MapValue(attribute.Int("i", 1))}), {}}.Snapshots()
	var want bytes.Buffer
	theirs, err := stdouttrace.New(stdouttrace.WithWriter(&want))
	if err != nil {
		t.Fatal(err)
	}
	var got sink
	for _, exp := range []sdktrace.SpanExporter{theirs, spanExporterTo(t, &got)} {
		if err := exp.ExportSpans(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
	}
	if got.buf.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.buf.String(), want.String())
	}
	got.lines(t)
}

var notFinite = []attribute.KeyValue{
	attribute.Float64("nan", nan), attribute.Float64("inf", inf), attribute.Float64("neg", -inf), attribute.Float64("fine", 0.5),
	attribute.Float64Slice("list", []float64{1.5, nan, -inf}), attribute.Float64Slice("finelist", []float64{1, 2}),
	{Key: "slice", Value: attribute.SliceValue(attribute.Float64Value(nan), attribute.IntValue(1))},
	{Key: "map", Value: attribute.MapValue(attribute.Float64("loss", inf), attribute.Float64("ok", 1))},
}

// value digs the value of a key out of a decoded attribute list.
func value(t *testing.T, attrs any, key string) any {
	t.Helper()
	for _, a := range attrs.([]any) {
		if m := a.(map[string]any); m["Key"] == key {
			return m["Value"].(map[string]any)["Value"]
		}
	}
	t.Errorf("no %s in %v", key, attrs)
	return nil
}

func checkNotFinite(t *testing.T, where string, attrs any) {
	t.Helper()
	for key, want := range map[string]any{
		"nan": "NaN", "inf": "Infinity", "neg": "-Infinity", "fine": 0.5,
		"list": []any{"1.5", "NaN", "-Infinity"}, "finelist": []any{1.0, 2.0},
	} {
		if got := value(t, attrs, key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s = %v, want %v", where, key, got, want)
		}
	}
	if s := fmt.Sprint(value(t, attrs, "slice"), value(t, attrs, "map")); !strings.Contains(s, "NaN") || !strings.Contains(s, "Infinity") {
		t.Errorf("%s: nested %s", where, s)
	}
}

func TestNotFiniteSpans(t *testing.T) {
	t.Parallel()
	var out sink
	in := spanWith(notFinite...)
	if err := spanExporterTo(t, &out).ExportSpans(t.Context(), tracetest.SpanStubs{in, spanWith()}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	lines := out.lines(t)
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	m := lines[0]
	if m["Name"] != "span" || m["Status"].(map[string]any)["Description"] != "broken <&>\nline" {
		t.Errorf("got %v", m)
	}
	checkNotFinite(t, "span", m["Attributes"])
	checkNotFinite(t, "event", m["Events"].([]any)[0].(map[string]any)["Attributes"])
	checkNotFinite(t, "third event", m["Events"].([]any)[2].(map[string]any)["Attributes"])
	checkNotFinite(t, "link", m["Links"].([]any)[2].(map[string]any)["Attributes"])
	checkNotFinite(t, "resource", m["Resource"])
	checkNotFinite(t, "scope", m["InstrumentationScope"].(map[string]any)["Attributes"])
	if !math.IsNaN(in.Events[0].Attributes[0].Value.AsFloat64()) || !math.IsNaN(notFinite[0].Value.AsFloat64()) {
		t.Error("the caller's attributes were changed")
	}
}

func TestTimesOutsideJSON(t *testing.T) {
	t.Parallel()
	var out sink
	in := spanWith()
	in.StartTime, in.EndTime = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	in.Events[1].Time = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -5*3600))
	if err := spanExporterTo(t, &out).ExportSpans(t.Context(), tracetest.SpanStubs{in}.Snapshots()); err != nil {
		t.Fatal(err)
	}
	m := out.lines(t)[0]
	if m["StartTime"] != "0001-01-01T00:00:00Z" || m["EndTime"] != "9998-12-31T23:59:59.999999999Z" {
		t.Errorf("times %v and %v", m["StartTime"], m["EndTime"])
	}
}

func TestFailedWrites(t *testing.T) {
	t.Parallel()
	out := sink{err: syscall.ENOSPC}
	exp := spanExporterTo(t, &out)
	spans := tracetest.SpanStubs{spanWith(), spanWith(), spanWith()}.Snapshots()
	err := exp.ExportSpans(t.Context(), spans)
	var l interface{ LostSpans() int }
	if !errors.As(err, &l) || l.LostSpans() != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: %v", err)
	}
	out.err = nil
	if err := exp.ExportSpans(t.Context(), spans); err != nil || len(out.lines(t)) != 3 {
		t.Errorf("with space again: %v, %d lines", err, len(out.lines(t)))
	}
}

func TestEndOfSpanExporter(t *testing.T) {
	t.Parallel()
	var out sink
	exp := spanExporterTo(t, &out)
	spans := tracetest.SpanStubs{spanWith(), spanWith()}.Snapshots()
	spans = append(spans, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exp.ExportSpans(ctx, spans[:2]); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 of 2 spans lost") {
		t.Errorf("cancelled: %v", err)
	}
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := exp.ExportSpans(t.Context(), spans[:2]); err == nil || !strings.Contains(err.Error(), "2 of 2 spans lost: the console exporter has been shut down") {
		t.Errorf("after Shutdown: %v", err)
	}
	if n := len(out.lines(t)); n != 2 {
		t.Errorf("%d lines", n)
	}
	if exp, err := NewSpanExporter(nil); err != nil {
		t.Error(err)
	} else if err := exp.ExportSpans(t.Context(), spans[:1]); err == nil {
		t.Error("a nil destination is not an error")
	}
}

func TestConcurrentExports(t *testing.T) {
	t.Parallel()
	var out sink
	exp := spanExporterTo(t, &out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := exp.ExportSpans(t.Context(), tracetest.SpanStubs{spanWith(notFinite...)}.Snapshots()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(out.lines(t)); n != 160 {
		t.Errorf("%d lines", n)
	}
}

const childSpans = 8

// child is one rank: it writes spans with lines of 100 kB to its standard output,
// and says on standard error when that failed.
func child() int {
	exp, err := NewSpanExporter(os.Stdout)
	if err != nil {
		panic(err)
	}
	sp := spanWith(attribute.String("text", strings.Repeat("x", 100_000)), attribute.Float64("loss", nan))
	for range childSpans {
		if err := exp.ExportSpans(context.Background(), tracetest.SpanStubs{sp}.Snapshots()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
	}
	return 0
}

func TestRanksSharingAPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is known to lock pipes")
	}
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var procs []*exec.Cmd
	for range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=1")
		cmd.Stdout, cmd.Stderr = w, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		procs = append(procs, cmd)
	}
	w.Close()
	n := 0
	dec := json.NewDecoder(r)
	for dec.More() {
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("after %d spans: %v", n, err)
		}
		n++
	}
	for _, p := range procs {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if want := len(procs) * childSpans; n != want {
		t.Errorf("%d spans, want %d", n, want)
	}
}

func TestClosedStandardOutput(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = w, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(stderr.String(), "1 of 1 spans lost: write /dev/stdout: broken pipe") {
		t.Errorf("child ended with %v: %s", err, stderr.String())
	}
}

func BenchmarkSpanLine(b *testing.B) {
	spans := tracetest.SpanStubs{spanWith(attribute.String("key", "value"), attribute.Float64("loss", 0.5))}.Snapshots()
	var w discard
	ours, err := NewSpanExporter(w)
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := stdouttrace.New(stdouttrace.WithWriter(w))
	if err != nil {
		b.Fatal(err)
	}
	for name, exp := range map[string]sdktrace.SpanExporter{"lens": ours, "stdouttrace": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = exp.ExportSpans(context.Background(), spans)
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
