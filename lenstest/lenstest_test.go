//go:build !lens_noop

package lenstest_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenstest"
)

func train(ctx context.Context, fail error) (err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, "job")
	defer lens.End(span, &err)
	for range 2 {
		_, s := lens.ManagedSpan(ctx, lens.Step, "step")
		_, hidden := lens.ManagedSpan(ctx, lens.Optimizer, "optimizer")
		lens.End(hidden, nil)
		lens.End(s, nil)
	}
	return fail
}

func TestRecorder(t *testing.T) {
	global := otel.GetTracerProvider()
	t.Run("inner", func(t *testing.T) {
		rec := lenstest.Start(t, lens.Job, lens.Step)
		if err := train(context.Background(), errors.New("boom")); err == nil {
			t.Fatal("the error was lost")
		}
		if got, want := rec.Tree(), "job !\n  step\n  step\n"; got != want {
			t.Errorf("Tree:\n%swant\n%s", got, want)
		}
		if !lenstest.IsChild(rec.One("job"), rec.Named("step")[1]) {
			t.Error("step is not below job")
		}
		_, open := lens.ManagedSpan(context.Background(), lens.Step, "open")
		if got := rec.Open(); len(got) != 1 || got[0].Name() != "open" {
			t.Errorf("Open = %v", got)
		}
		lens.End(open, nil)
		if otel.GetTracerProvider() != global {
			t.Error("the global provider was touched")
		}
	})
	if lens.IsSpanGroupEnabled(lens.Step) {
		t.Error("a group is still on after the test")
	}
	lenstest.Start(t, lens.Job) // and again
}
