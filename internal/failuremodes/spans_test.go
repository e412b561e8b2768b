//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/lenstest"
)

type uncomparable struct{ values []int }

func (u uncomparable) Error() string { return fmt.Sprint("diverged at ", u.values) }

// badError is an error whose methods fail when it is nil.
type badError struct{ inner error }

func (e *badError) Error() string { return "cannot: " + e.inner.Error() }
func (e *badError) Unwrap() error { return e.inner }

// nested calls f through n wrappers, each with a span.
func nested(n int, f func(context.Context) error) func(context.Context) error {
	for range n {
		f = lens.TraceErrFn(lens.Step, "step", f)
	}
	return f
}

func TestE1Panics(t *testing.T) {
	wrapped := fmt.Errorf("rank 3: %w", errRefused)
	for what, value := range map[string]any{
		"text": "out of memory", "error": wrapped, "abort": http.ErrAbortHandler, "number": 7,
		"uncomparable": uncomparable{[]int{1}}, "pointer": &uncomparable{}, "runtime error": nil,
	} {
		t.Run(what, func(t *testing.T) {
			r := lenstest.Start(t, lens.Step)
			const depth = 5
			var got any
			func() {
				defer func() { got = recover() }()
				_ = nested(depth, func(context.Context) error {
					if value == nil {
						writeToNilMap()
					}
					panic(value)
				})(context.Background())
			}()
			switch what {
			case "runtime error":
				var e runtime.Error
				require.ErrorAs(t, got.(error), &e)
			case "error":
				require.Equal(t, value, got)
				require.ErrorIs(t, got.(error), errRefused)
			default:
				require.Equal(t, value, got)
			}
			spans := r.Ended()
			require.Len(t, spans, depth)
			for i, s := range spans { // the innermost ends first
				require.Equal(t, otelcodes.Error, s.Status().Code)
				require.Equal(t, i == 0, len(s.Events()) == 1, "one exception, in the innermost span")
			}
		})
	}
	t.Run("the stack does not grow with each level", func(t *testing.T) {
		r := lenstest.Start(t, lens.Step)
		for _, depth := range []int{1, 20} {
			func() {
				defer func() { _ = recover() }()
				_ = nested(depth, func(context.Context) error { panic("x") })(context.Background())
			}()
		}
		stack := func(s sdktrace.ReadOnlySpan) string {
			for _, kv := range s.Events()[0].Attributes {
				if kv.Key == "exception.stacktrace" {
					return kv.Value.AsString()
				}
			}
			return ""
		}
		spans := r.Ended()
		perLevel := (strings.Count(stack(spans[1]), "\n") - strings.Count(stack(spans[0]), "\n")) / 19
		require.LessOrEqual(t, perLevel, 4, "lines for each level of wrapping")
	})
	t.Run("a panic in a deferred function of a panic", func(t *testing.T) {
		r := lenstest.Start(t, lens.Step)
		func() {
			defer func() { require.Equal(t, "second", recover()) }()
			_ = nested(1, func(context.Context) (err error) {
				defer func() { panic("second") }()
				panic("first")
			})(context.Background())
		}()
		require.Len(t, r.Ended(), 1)
	})
	t.Run("Goexit", func(t *testing.T) {
		r := lenstest.Start(t, lens.Step)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = nested(3, func(context.Context) error { runtime.Goexit(); return nil })(context.Background())
		}()
		<-done
		require.Len(t, r.Ended(), 3)
	})
}

func TestE2EndedOnce(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	ctx, parent := lens.ManagedSpan(context.Background(), lens.Job, "parent")
	_, child := lens.ManagedSpan(ctx, lens.Step, "child")
	_, elsewhere := lens.ManagedSpan(ctx, lens.Step, "elsewhere")
	_, leaked := lens.ManagedSpan(ctx, lens.Step, "leaked")
	lens.End(parent, nil) // before its children
	lens.End(child, nil)
	lens.End(child, nil)
	child.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lens.End(elsewhere, nil)
	}()
	<-done
	open := tm.OpenSpans()
	require.Len(t, open, 1, "what leaks can be seen")
	require.Equal(t, "leaked", open[0].Name)
	require.Equal(t, lens.Step, open[0].Group)
	require.Equal(t, leaked.SpanContext().SpanID(), open[0].SpanID)
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, map[string]int{"parent": 1, "child": 1, "elsewhere": 1, "leaked": 1}, namesOf(s.Spans()))
	otlptest.CheckWhole(t, s.Spans())
	requireBalance(t, tm.Stats(), 4)
}

func TestE4WorkThatOutlivesItsCaller(t *testing.T) {
	r := lenstest.Start(t, lens.Job, lens.Step)
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), key{}, "value"), time.Hour)
	ctx, request := lens.ManagedSpan(ctx, lens.Job, "request")
	background := lens.Detach(ctx)
	lens.End(request, nil)
	cancel()
	require.NoError(t, background.Err())
	_, limited := background.Deadline()
	require.False(t, limited)
	require.Equal(t, "value", background.Value(key{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, work := lens.ManagedSpan(background, lens.Step, "work")
		lens.End(work, nil)
	}()
	<-done
	require.True(t, lenstest.IsChild(r.One("request"), r.One("work")))
}

func TestE5ALoopHasOneParent(t *testing.T) {
	const steps = 8000
	var wrong, seen int
	var root trace.SpanContext
	counts := &exporter{export: func(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
		for _, s := range spans {
			if s.Name() == "step" {
				seen++
				if s.Parent().SpanID() != root.SpanID() {
					wrong++
				}
			}
		}
		return nil
	}}
	tm := setUp(t, config(within(10*time.Second), func(c *lens.Config) { c.BlockOnFullQueue = true }), lens.WithSpanExporter(counts))
	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "job")
	root = job.SpanContext()
	step := lens.TraceErrFn(lens.Step, "step", func(context.Context) error { return nil })
	var heap [2]uint64
	for i := range steps {
		require.NoError(t, step(ctx))
		if i == steps/2 {
			require.NoError(t, tm.ForceFlush(ctx))
			heap[0] = liveHeap()
		}
	}
	require.NoError(t, tm.ForceFlush(ctx))
	heap[1] = liveHeap()
	lens.End(job, nil)
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, steps, seen)
	require.Zero(t, wrong)
	require.Less(t, int64(heap[1])-int64(heap[0]), int64(1<<20), "memory grows with the steps")
}

func TestE6WithoutSetUp(t *testing.T) {
	ctx := context.Background()
	same, span := lens.ManagedSpan(ctx, lens.Step, "x")
	require.True(t, same == ctx)
	require.False(t, span.IsRecording())
	lens.End(span, nil)
	for _, start := range []func() trace.Span{
		func() trace.Span { _, s := lens.SpanCM(ctx, "x"); return s },
		func() trace.Span { _, s := lens.LinkedSpan(ctx, "x", trace.SpanContext{}); return s },
		func() trace.Span { _, s := lens.Tracer().Start(ctx, "x"); return s },
		func() trace.Span { _, s := lens.GroupTracerProvider(lens.Step).Tracer("x").Start(ctx, "x"); return s },
		func() trace.Span { _, s := lens.ManagedSpanWith(ctx, lens.Step, "x", trace.WithNewRoot()); return s },
	} {
		s := start()
		require.False(t, s.IsRecording())
		lens.End(s, nil)
	}
	require.NoError(t, nested(2, func(context.Context) error { return nil })(ctx))
	sc, err := lens.EmitSpan(ctx, lens.Step, "x", time.Time{}, time.Time{})
	require.NoError(t, err)
	require.False(t, sc.IsValid())
	tasks, _ := lens.NewTaskGroup(ctx, lens.Step)
	tasks.Go("x", func(context.Context) error { return nil })
	require.NoError(t, tasks.Wait())
	carrier := map[string]string{}
	lens.InjectContext(ctx, carrier)
	require.Empty(t, carrier)
	require.Equal(t, "{}", string(lens.SerializeContext(ctx)))
	lens.SafeSetSpanAttributes(span, map[string]any{"x": 1})
	require.Zero(t, lens.EnabledSpanGroups().Len())
}

func TestE7RemoteParentAndSampler(t *testing.T) {
	const id = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
	for _, c := range []struct {
		sampler, flag string
		sampled       bool
	}{
		{"", "1", true}, {"", "0", false}, // parentbased_always_on: the caller decides
		{"parentbased_always_off", "1", true}, {"parentbased_always_off", "0", false},
		{"always_on", "0", true}, {"always_on", "1", true}, {"always_off", "1", false},
		{"traceidratio", "0", true}, // of ratio 1
	} {
		t.Run(fmt.Sprint(c.sampler, " parent ", c.flag), func(t *testing.T) {
			tm, err := fromEnv(t, variables("OTEL_TRACES_SAMPLER", c.sampler), lens.WithSpanExporter(&exporter{}))
			require.NoError(t, err)
			ctx, span := lens.ManagedSpan(lens.ExtractContext(context.Background(), map[string]string{"traceparent": id + c.flag}), lens.Step, "step")
			out := map[string]string{}
			lens.InjectContext(ctx, out)
			lens.End(span, nil)
			require.Equal(t, c.sampled, span.SpanContext().IsSampled())
			require.Equal(t, c.sampled, strings.HasSuffix(out["traceparent"], "-01"), "the outgoing flag is our decision")
			require.Contains(t, out["traceparent"], "0af7651916cd43dd8448eb211c80319c")
			require.NoError(t, tm.Shutdown(context.Background()))
		})
	}
}

var generation string

// The chain is a variable of its own, as a program that starts itself would refer to itself.
func init() { generation = program("E8", chain) }

func chain() {
	h := mustSetUp()
	left := len(os.Getenv("GENERATIONS"))
	before := os.Getenv("TRACEPARENT")
	ctx, span := lens.ManagedSpan(lens.ExtractEnv(context.Background()), lens.Job, fmt.Sprint("generation ", left))
	if left > 1 {
		// #nosec G204 -- the program is this one
		cmd := exec.Command(os.Args[0])
		env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GENERATIONS=") })
		cmd.Env = append(lens.InjectEnv(ctx, env), "GENERATIONS="+strings.Repeat("x", left-1))
		cmd.Stderr = os.Stderr
		check(cmd.Run(), 81)
	}
	if os.Getenv("TRACEPARENT") != before {
		check(errors.New("the environment of the process has changed"), 82)
	}
	lens.End(span, nil)
	check(h.Shutdown(context.Background()), 80)
}

func TestE8ATraceThroughTheEnvironment(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := runChild(t, generation, exportTo(grpcProtocol, s.GRPCURL(), "GENERATIONS=xxx")...)
	require.Zero(t, p.status(t), &p.stderr)
	require.Equal(t, "generation 3\n└─ generation 2\n   └─ generation 1\n", otlptest.Tree(s.Spans()))
	otlptest.CheckWhole(t, s.Spans())
}

func TestE8FormsInTheEnvironment(t *testing.T) {
	const id, tail = "0af7651916cd43dd8448eb211c80319c", "-b7ad6b7169203331-01"
	for what, c := range map[string]struct {
		name, value string
		found       bool
	}{
		"plain": {"TRACEPARENT", "00-" + id + tail, true}, "lower-case name": {"traceparent", "00-" + id + tail, true},
		"space": {"TRACEPARENT", "  00-" + id + tail + "\n", true}, "later version": {"TRACEPARENT", "01-" + id + tail + "-more", true},
		"junk": {"TRACEPARENT", "junk", false}, "version ff": {"TRACEPARENT", "ff-" + id + tail, false},
		"zero trace":    {"TRACEPARENT", "00-" + strings.Repeat("0", 32) + tail, false},
		"zero span":     {"TRACEPARENT", "00-" + id + "-0000000000000000-01", false},
		"an extra part": {"TRACEPARENT", "00-" + id + tail + "-more", false}, "empty": {"TRACEPARENT", "", false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			sc := trace.SpanContextFromContext(lens.ExtractEnv(context.Background()))
			require.Equal(t, c.found, sc.IsValid())
			if c.found {
				require.Equal(t, id, sc.TraceID().String())
			}
			tm := setUp(t, config(), lens.WithSpanExporter(&exporter{}))
			_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
			require.NotEqual(t, id, span.SpanContext().TraceID().String(), "used only when asked for")
			lens.End(span, nil)
			require.NoError(t, tm.Shutdown(context.Background()))
		})
	}
}

type stringer struct{ text *string }

func (s stringer) String() string { return *s.text }

func TestE13AnyValue(t *testing.T) {
	r := lenstest.Start(t, lens.Step)
	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
	var nilPointer *int
	var nilStringer fmt.Stringer = (*stringer)(nil)
	require.NotPanics(t, func() {
		lens.SafeSetSpanAttributes(span, map[string]any{
			"nil": nil, "pointer": nilPointer, "stringer": nilStringer, "panics": stringer{}, "error": (*badError)(nil), "func": func() {},
			"chan": make(chan int), "map": map[string]any{"a": 1}, "mixed": []any{1, "a", nil}, "nils": []any{nil}, "empty": []any{},
			"uint64": uint64(math.MaxUint64), "complex": 1i, "struct": struct{ A int }{1}, "nan": math.NaN(), "bad": "\xff", "": "no key",
			"good": "text",
		})
		lens.SafeSetSpanAttributes(nil, map[string]any{"x": 1})
	})
	lens.End(span, nil)
	require.Contains(t, r.One("step").Attributes(), attribute.String("good", "text"))
}

func TestE14OneSpanInManyGoroutines(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			span.SetAttributes(attribute.Int("i", i))
			span.AddEvent("event")
			lens.SafeSetSpanAttributes(span, map[string]any{"i": i})
			span.SetStatus(otelcodes.Error, "x")
			_ = span.IsRecording()
			_ = tm.OpenSpans()
			if i%10 == 9 {
				lens.End(span, nil)
				span.SetAttributes(attribute.Int("late", i))
			}
			err := errRefused
			lens.End(span, &err)
		})
	}
	wg.Wait()
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, 1, s.Count(otlptest.Traces))
	requireBalance(t, tm.Stats(), 1)
}

func TestE15SpansThatNeverEnd(t *testing.T) {
	before := goleak.IgnoreCurrent()
	tm := setUp(t, config(within(slack/4)), lens.WithSpanExporter(&exporter{}))
	_, first := lens.ManagedSpan(context.Background(), lens.Step, "first")
	leak := func(n int) {
		for range n {
			_, _ = lens.ManagedSpan(context.Background(), lens.Step, "leaked")
		}
	}
	leak(66_000) // more than are tracked
	heap := liveHeap()
	leak(14_000)
	require.Less(t, int64(liveHeap())-int64(heap), int64(8<<20), "the table of open spans grows without end")
	open := tm.OpenSpans()
	require.LessOrEqual(t, len(open), 1<<16)
	require.Contains(t, tm.log.String(), "65536", "the rest is spoken of: %s", tm.log)
	require.True(t, first.IsRecording(), "a long span is not cut short")
	require.Equal(t, "first", open[0].Name)
	_ = tm.Shutdown(context.Background())
	s := tm.Stats()
	require.Equal(t, s.Ended, s.Exported+s.Dropped+s.Failed+s.Queued, "%+v", s)
	require.EqualValues(t, 80_001, s.Started)
	requireNoLeak(t, before)
}

func TestE16NamesAreConstants(t *testing.T) {
	position := map[string]int{"ManagedSpan": 2, "ManagedSpanWith": 2, "SpanCM": 1, "TraceFn": 1, "TraceErrFn": 1, "EmitSpan": 2, "LinkedSpan": 1}
	calls := 0
	fset := token.NewFileSet()
	require.NoError(t, filepath.WalkDir("../../examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil //nolint:nilerr // the compiler says that better
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := fun.X.(*ast.Ident); !ok || pkg.Name != "lens" {
				return true
			}
			i, ok := position[fun.Sel.Name]
			if !ok || i >= len(call.Args) {
				return true
			}
			calls++
			switch call.Args[i].(type) {
			case *ast.CallExpr, *ast.BinaryExpr:
				t.Errorf("%s: the name of the span is computed; what varies belongs into attributes", fset.Position(call.Pos()))
			}
			return true
		})
		return nil
	}))
	require.NotZero(t, calls)
}

func TestE13AnyError(t *testing.T) {
	r := lenstest.Start(t, lens.Step)
	for what, err := range map[string]error{
		"typed nil": (*badError)(nil), "half nil": &badError{}, "uncomparable": uncomparable{[]int{1}}, "joined": errors.Join(errRefused, (*badError)(nil)),
	} {
		require.NotPanics(t, func() {
			_, s := lens.ManagedSpan(context.Background(), lens.Step, "failing")
			err := err
			lens.End(s, &err)
		}, what)
	}
	failing := r.Named("failing")
	require.Len(t, failing, 4, "all ended")
	for _, s := range failing {
		require.Equal(t, otelcodes.Error, s.Status().Code)
		require.Len(t, s.Events(), 1)
	}
}
