package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/outcome"
)

// lostIn exports and returns the number of spans the error admits to.
func lostIn(t *testing.T, exp sdktrace.SpanExporter, ctx context.Context, spans []sdktrace.ReadOnlySpan) (int, error) {
	t.Helper()
	err := exp.ExportSpans(ctx, spans)
	if err == nil {
		return 0, nil
	}
	var l interface{ LostSpans() int }
	if !errors.As(err, &l) {
		t.Fatalf("%T says nothing of lost spans: %v", err, err)
	}
	return l.LostSpans(), err
}

// taking accepts all spans and counts spans and requests.
type taking struct {
	mu              sync.Mutex
	spans, requests int
}

func (e *taking) ExportSpans(_ context.Context, s []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans += len(s)
	e.requests++
	return nil
}
func (*taking) Shutdown(context.Context) error { return nil }

func TestSplitBySize(t *testing.T) {
	t.Parallel()
	var got taking
	lost, err := lostIn(t, New(&got, Options{}), t.Context(), stubs(500, attribute.String("k", strings.Repeat("x", 10_000))))
	if lost != 0 || err != nil || got.spans != 500 || got.requests != 2 {
		t.Errorf("lost %d (%v), %d spans in %d requests; want 500 in 2", lost, err, got.spans, got.requests)
	}
}

func TestOneOversizeSpanIsTheOnlyLoss(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 250, 499} {
		var in tracetest.SpanStubs
		for i := range 500 {
			in = append(in, stub(i, attribute.String("k", strings.Repeat("x", 10_000))))
		}
		in[at].Name = "giant"
		in[at].Attributes = append(in[at].Attributes, attribute.String("big", strings.Repeat("x", 5<<20)))
		var got taking
		lost, err := lostIn(t, New(&got, Options{TextLimit: -1}), t.Context(), in.Snapshots())
		if lost != 1 || got.spans != 499 || err == nil || !strings.Contains(err.Error(), `1 of 500 spans lost: span "giant" takes`) {
			t.Errorf("at %d: lost %d (%v), %d delivered", at, lost, err, got.spans)
		}
		got = taking{}
		if lost, err := lostIn(t, New(&got, Options{}), t.Context(), in.Snapshots()); lost != 0 || got.spans != 500 {
			t.Errorf("at %d, with the default text limit: lost %d (%v), %d delivered", at, lost, err, got.spans)
		}
	}
}

// TestValidSpansAreFree is the promise for the common case. It cannot be parallel.
func TestValidSpansAreFree(t *testing.T) {
	sp := rich("valid, also 世界", "key")
	sp.DroppedAttributes, sp.DroppedEvents, sp.DroppedLinks = 0, 0, 0
	for name, spans := range map[string][]sdktrace.ReadOnlySpan{
		"plain": stubs(512, attribute.String("key", "value"), attribute.Int("step", 7)),
		"rich":  tracetest.SpanStubs{sp, sp, stub(1), sp}.Snapshots(),
	} {
		exp := New(&taking{}, Options{Log: errlog.New(slog.New(slog.DiscardHandler))})
		ctx := context.Background()
		if n := testing.AllocsPerRun(50, func() {
			if err := exp.ExportSpans(ctx, spans); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations for %d valid spans", name, n, len(spans))
		}
	}
}

type panicking struct{ value any }

func (p *panicking) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { panic(p.value) }
func (p *panicking) Shutdown(context.Context) error                             { panic(p.value) }

func TestPanics(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exp  sdktrace.SpanExporter
		want string
	}{
		"text":      {&panicking{"boom token=secret"}, "*guard.panicking panicked in ExportSpans: boom token=[REDACTED]"},
		"error":     {&panicking{io.ErrUnexpectedEOF}, "panicked in ExportSpans: unexpected EOF"},
		"typed nil": {(*panicking)(nil), "(nil *guard.panicking) panicked in ExportSpans: runtime error: invalid memory address"},
		"nil":       {nil, "the span exporter is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			exp := New(c.exp, Options{Log: errlog.New(slog.New(slog.NewTextHandler(&out, nil)))})
			for range 3 {
				lost, err := lostIn(t, exp, t.Context(), stubs(7))
				if lost != 7 || !strings.Contains(err.Error(), c.want) {
					t.Errorf("lost %d: %v", lost, err)
				}
				if name == "error" && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v hides its cause", err)
				}
			}
			err := exp.Shutdown(t.Context())
			if (err == nil) != (c.exp == nil) {
				t.Errorf("Shutdown: %v", err)
			}
			if n := strings.Count(out.String(), "\n"); c.exp != nil && n != 1 || c.exp == nil && n != 0 {
				t.Errorf("%d warnings: %s", n, out.String())
			}
		})
	}
}

// badSpan panics when its attributes are read.
type badSpan struct{ sdktrace.ReadOnlySpan }

func (badSpan) Attributes() []attribute.KeyValue { panic("no attributes") }

func TestSpanThatPanics(t *testing.T) {
	t.Parallel()
	spans := stubs(5)
	spans[4] = badSpan{spans[4]}
	var got taking
	// Each span is a request, so that three are sent before the last is read.
	lost, err := lostIn(t, New(&got, Options{RequestBytes: 400}), t.Context(), spans)
	if lost+got.spans != 5 || got.spans < 3 {
		t.Errorf("lost %d and delivered %d of 5: %v", lost, got.spans, err)
	}
}

func TestNilSpansAndEmptyBatches(t *testing.T) {
	t.Parallel()
	var got taking
	exp := New(&got, Options{})
	spans := stubs(3)
	spans[1] = nil
	for _, in := range [][]sdktrace.ReadOnlySpan{spans, nil, {}, {nil}} {
		if err := exp.ExportSpans(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	if got.spans != 2 || got.requests != 1 || spans[1] != nil || spans[2] == nil {
		t.Errorf("%d spans in %d requests; the caller's slice: %v", got.spans, got.requests, spans)
	}
}

func TestEndOfContextCountsTheRest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	exp := New(exportFunc(func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		sent += len(s)
		cancel()
		return nil
	}), Options{RequestBytes: 2000})
	lost, err := lostIn(t, exp, ctx, stubs(100))
	if sent == 0 || sent == 100 || lost != 100-sent || !errors.Is(err, context.Canceled) {
		t.Errorf("sent %d, lost %d: %v", sent, lost, err)
	}
}

func TestFailuresOfPartsAddUp(t *testing.T) {
	t.Parallel()
	requests, delivered := 0, 0
	exp := New(exportFunc(func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		if requests++; requests%2 == 0 {
			return fmt.Errorf("request %d: password=secret", requests)
		}
		delivered += len(s)
		return nil
	}), Options{RequestBytes: 2000})
	lost, err := lostIn(t, exp, t.Context(), stubs(200))
	if lost+delivered != 200 || lost == 0 || delivered == 0 {
		t.Errorf("lost %d, delivered %d", lost, delivered)
	}
	if text := err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "more reasons") || len(text) > 1000 {
		t.Errorf("error text: %s", text)
	}
}

// heldSpan can be watched by the garbage collector.
type heldSpan struct{ sdktrace.ReadOnlySpan }

// TestNothingOfASpanIsKept exports a good, a repaired, an oversize and a failed
// span and keeps the exporter and its error alive.
func TestNothingOfASpanIsKept(t *testing.T) {
	t.Parallel()
	exp := New(exportFunc(func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		if s[0].Name() == "failed" {
			return io.EOF
		}
		return nil
	}), Options{RequestBytes: 500, TextLimit: -1})
	gone := make(chan string, 4)
	err := func() error {
		var spans []sdktrace.ReadOnlySpan
		for _, name := range []string{"good", "repaired\xff", "oversize" + strings.Repeat("x", 1000), "failed"} {
			sp := stub(1)
			sp.Name = name
			held := &heldSpan{sp.Snapshot()}
			runtime.AddCleanup(held, func(name string) { gone <- name }, name[:4])
			spans = append(spans, held)
		}
		return exp.ExportSpans(t.Context(), spans)
	}()
	if outcome.Lost(err, 4) != 2 {
		t.Errorf("lost %d of 4, want 2: %v", outcome.Lost(err, 4), err)
	}
	for range 4 {
		deadline := time.After(30 * time.Second)
		for collected := false; !collected; {
			runtime.GC()
			select {
			case <-gone:
				collected = true
			case <-deadline:
				t.Fatal("a span is still held")
			case <-time.After(time.Millisecond):
			}
		}
	}
	runtime.KeepAlive(exp)
	runtime.KeepAlive(err)
}

func TestCallersSliceIsSafeFromTheExporter(t *testing.T) {
	t.Parallel()
	exp := New(exportFunc(func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		_ = append(s, nil) // must not overwrite what comes after this part
		return nil
	}), Options{RequestBytes: 2000})
	spans := stubs(100)
	if err := exp.ExportSpans(t.Context(), spans); err != nil {
		t.Error(err)
	}
	for i, s := range spans {
		if s == nil {
			t.Fatalf("span %d was overwritten", i)
		}
	}
}

func TestWarnsOfRepairAndOfDroppedAttributes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	exp := New(&taking{}, Options{Log: errlog.New(slog.New(slog.NewTextHandler(&out, nil)))})
	bad := stub(1, attribute.String("k", "\xff"))
	bad.DroppedAttributes = 12
	for range 3 {
		if err := exp.ExportSpans(t.Context(), tracetest.SpanStubs{bad, bad}.Snapshots()); err != nil {
			t.Error(err)
		}
	}
	if s := out.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "was repaired") || !strings.Contains(s, "attributes=12") {
		t.Errorf("log: %s", s)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var got taking
	exp := New(&got, Options{RequestBytes: 5000})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				sp := stub(j, attribute.String("k", "bad\xff"))
				sp.InstrumentationScope = instrumentation.Scope{Name: "s", Attributes: attribute.NewSet(attribute.Int("i", 8*j+i))}
				if err := exp.ExportSpans(t.Context(), append(stubs(10), tracetest.SpanStubs{sp}.Snapshots()...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if want := 8 * 20 * 11; got.spans != want {
		t.Errorf("%d spans, want %d", got.spans, want)
	}
}

func TestMarshalLogNamesTheExporter(t *testing.T) {
	t.Parallel()
	for exp, want := range map[sdktrace.SpanExporter]string{
		&taking{}: "*guard.taking", nil: "(nil)", (*taking)(nil): "(nil *guard.taking)",
	} {
		if got := fmt.Sprint(New(exp, Options{}).(*exporter).MarshalLog()); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}

func BenchmarkExportSpans(b *testing.B) {
	plain := stubs(512, attribute.String("key", "value"), attribute.Int("step", 7))
	some := rich("valid", "key")
	some.DroppedAttributes, some.DroppedEvents, some.DroppedLinks = 0, 0, 0
	var all tracetest.SpanStubs
	for range 512 {
		all = append(all, some)
	}
	next := exportFunc(func(context.Context, []sdktrace.ReadOnlySpan) error { return nil })
	for name, spans := range map[string][]sdktrace.ReadOnlySpan{"two attributes": plain, "everything": all.Snapshots()} {
		b.Run(name, func(b *testing.B) {
			exp := New(next, Options{})
			b.ReportAllocs()
			for b.Loop() {
				_ = exp.ExportSpans(context.Background(), spans)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(spans)), "ns/span")
		})
	}
}
