package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
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

// atMost refuses requests of more than n spans, as a server does.
func atMost(n int, next exportFunc) exportFunc {
	return func(ctx context.Context, s []sdktrace.ReadOnlySpan) error {
		if len(s) > n {
			return status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")
		}
		return next(ctx, s)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31} {
		for most := range 5 {
			for _, bad := range []int{-1, 0, n / 2, n - 1} {
				var sent []int
				err := Split(t.Context(), "things", n, func(from, to int) error {
					if to-from > most || from <= bad && bad < to {
						return &OversizeError{What: "one", Size: to - from, Limit: most}
					}
					for i := from; i < to; i++ {
						sent = append(sent, i)
					}
					return nil
				})
				want := n
				if most == 0 {
					want = 0
				} else if bad >= 0 && n > 0 {
					want--
				}
				if len(sent) != want || !slices.IsSorted(sent) || outcome.Lost(err, n) != n-want || (err == nil) != (want == n) {
					t.Fatalf("%d things, at most %d, %d is bad: sent %v, error %v", n, most, bad, sent, err)
				}
			}
		}
	}
}

// TestValidSpansAreFree is the promise for the common case. It cannot be parallel.
func TestValidSpansAreFree(t *testing.T) {
	spans := stubs(512, attribute.String("key", "value, also 世界"), attribute.Int("step", 7))
	exp := New(&taking{}, Options{Log: report.New(slog.New(slog.DiscardHandler))})
	ctx := context.Background()
	if n := testing.AllocsPerRun(50, func() {
		if err := exp.ExportSpans(ctx, spans); err != nil {
			t.Error(err)
		}
	}); n > 10 {
		t.Errorf("%v allocations for %d valid spans", n, len(spans))
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
			exp := New(c.exp, Options{Log: report.New(slog.New(slog.NewTextHandler(&out, nil)))})
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
	lost, err := lostIn(t, New(&got, Options{}), t.Context(), spans)
	if lost != 1 || got.spans != 4 || !strings.Contains(err.Error(), "no attributes") {
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
	exp := New(atMost(10, func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		sent += len(s)
		cancel()
		return nil
	}), Options{})
	lost, err := lostIn(t, exp, ctx, stubs(100))
	if sent == 0 || sent == 100 || lost != 100-sent || !errors.Is(err, context.Canceled) {
		t.Errorf("sent %d, lost %d: %v", sent, lost, err)
	}
}

func TestFailuresOfPartsAddUp(t *testing.T) {
	t.Parallel()
	requests, delivered := 0, 0
	exp := New(atMost(10, func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		if requests++; requests%2 == 0 {
			return fmt.Errorf("request %d: password=secret", requests)
		}
		delivered += len(s)
		return nil
	}), Options{})
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

// TestNothingOfASpanIsKept exports a good, a repaired and a failed span and keeps the exporter and its error alive.
func TestNothingOfASpanIsKept(t *testing.T) {
	t.Parallel()
	exp := New(atMost(1, func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		if s[0].Name() == "failed" {
			return io.EOF
		}
		return nil
	}), Options{})
	gone := make(chan string, 3)
	err := func() error {
		var spans []sdktrace.ReadOnlySpan
		for _, name := range []string{"good", "repaired\xff", "failed"} {
			sp := stub(1)
			sp.Name = name
			held := &heldSpan{sp.Snapshot()}
			runtime.AddCleanup(held, func(name string) { gone <- name }, name[:4])
			spans = append(spans, held)
		}
		return exp.ExportSpans(t.Context(), spans)
	}()
	if outcome.Lost(err, 3) != 1 {
		t.Errorf("lost %d of 3, want 1: %v", outcome.Lost(err, 3), err)
	}
	for range 3 {
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
	exp := New(atMost(10, func(_ context.Context, s []sdktrace.ReadOnlySpan) error {
		_ = append(s, nil) // must not overwrite what comes after this part
		return nil
	}), Options{})
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
	exp := New(&taking{}, Options{Log: report.New(slog.New(slog.NewTextHandler(&out, nil)))})
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
	exp := New(&got, Options{})
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
