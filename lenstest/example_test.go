//go:build !lens_noop

package lenstest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

// The function under test: an evaluation that retries a flaky model once.
func evaluate(ctx context.Context, ask func(context.Context) error) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Evaluate, "evaluate")
	defer lens.End(span, &err)
	for range 2 {
		if err = lens.TraceErrFn("model_call", "ask", ask)(ctx); err == nil {
			return nil
		}
	}
	return err
}

// A test of instrumented code compares the tree of its spans with a text.
func Example() {
	runTest(func(t testing.TB) {
		rec := lenstest.Start(t, lens.Evaluate, "model_call")
		_ = evaluate(context.Background(), flaky())

		fmt.Print(rec.Tree())
	})
	// Output:
	// evaluate
	//   ask !
	//   ask
}

func ExampleStart() {
	runTest(func(t testing.TB) {
		lenstest.Start(t, lens.Evaluate) // exactly this group
		fmt.Println(lens.EnabledSpanGroups())
	})
	fmt.Println("after the test:", lens.EnabledSpanGroups().Len())
	// Output:
	// evaluate
	// after the test: 0
}

// One span, or several of a name, with all that OpenTelemetry knows of them.
func ExampleRecorder_One() {
	runTest(func(t testing.TB) {
		rec := lenstest.Start(t, lens.Evaluate, "model_call")
		_ = evaluate(context.Background(), flaky())

		fmt.Println(rec.One("evaluate").Status().Code)
		for _, call := range rec.Named("ask") {
			fmt.Println(call.Status().Code, call.Status().Description, lenstest.IsChild(rec.One("evaluate"), call))
		}
		fmt.Println("in all:", len(rec.Ended()))
	})
	// Output:
	// Unset
	// Error overloaded true
	// Unset  true
	// in all: 3
}

// A span that nobody ends is a leak.
func ExampleRecorder_Open() {
	runTest(func(t testing.TB) {
		rec := lenstest.Start(t, lens.Evaluate)
		lens.ManagedSpan(context.Background(), lens.Evaluate, "forgotten")

		for _, span := range rec.Open() {
			fmt.Println("never ended:", span.Name())
		}
	})
	// Output: never ended: forgotten
}

// The accounting of the test's telemetry.
func ExampleRecorder_Handle() {
	runTest(func(t testing.TB) {
		rec := lenstest.Start(t, lens.Evaluate)
		_ = evaluate(context.Background(), flaky())

		stats := rec.Handle().Stats()
		fmt.Println("started:", stats.Started, "open:", stats.Open)
	})
	// Output: started: 1 open: 0
}

// flaky fails once.
func flaky() func(context.Context) error {
	calls := 0
	return func(context.Context) error {
		if calls++; calls == 1 {
			return errors.New("overloaded")
		}
		return nil
	}
}

// runTest stands for the testing package, which no example can run.
func runTest(test func(testing.TB)) {
	tb := new(example)
	test(tb)
	for _, f := range tb.cleanups {
		f()
	}
}

type example struct {
	testing.TB
	cleanups []func()
}

func (*example) Helper()                        {}
func (e *example) Cleanup(f func())             { e.cleanups = append(e.cleanups, f) }
func (*example) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (*example) Errorf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
