package reentry

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
)

func TestMark(t *testing.T) {
	t.Parallel()
	var none context.Context
	if Marked(none) || Marked(t.Context()) {
		t.Error("a context without the mark")
	}
	ctx, cancel := context.WithCancel(Mark(t.Context()))
	defer cancel()
	if !Marked(ctx) || !Marked(context.WithoutCancel(ctx)) {
		t.Error("the mark is gone")
	}
}

// deep calls f below n more frames.
//
//go:noinline
func deep(n int, f func() bool) bool {
	if n == 0 {
		return f()
	}
	return deep(n-1, f)
}

func TestOnlyTheGoroutineInside(t *testing.T) {
	t.Parallel()
	if InDo() || InHandle() {
		t.Error("outside")
	}
	for _, depth := range []int{0, 1, 62, 63, 64, 65, 200} {
		Do(func() {
			if !deep(depth, InDo) {
				t.Errorf("not found %d frames up", depth)
			}
			if deep(depth, InHandle) {
				t.Error("the wrong mark")
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if deep(depth, InDo) {
					t.Error("on another goroutine")
				}
			})
			wg.Wait()
		})
		if deep(depth, InDo) {
			t.Error("afterwards")
		}
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	h := &asking{err: failed}
	if err := Handle(h, t.Context(), slog.Record{Message: "m"}); !errors.Is(err, failed) || h.message != "m" || !h.inHandle || h.inDo {
		t.Errorf("error %v, %+v", err, h)
	}
}

type asking struct {
	slog.Handler
	err            error
	message        string
	inDo, inHandle bool
}

func (a *asking) Handle(_ context.Context, r slog.Record) error {
	a.message, a.inDo, a.inHandle = r.Message, InDo(), InHandle()
	return a.err
}

// A panic leaves no mark behind.
func TestPanic(t *testing.T) {
	t.Parallel()
	func() {
		defer func() { _ = recover() }()
		Do(func() { panic("odd") })
	}()
	if InDo() {
		t.Error("still inside")
	}
}

func TestPlumbing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"": false, "main": false, "go.opentelemetry.io/otel": true, "go.opentelemetry.io/otel/sdk/trace": true,
		"go.opentelemetry.io/otelcol": false, "google.golang.org/grpc/internal/transport": true, "google.golang.org/api": false,
		"github.com/nemo-lens/lens/internal/export/otlp": true, "github.com/nemo-lens/lens": false, "go.opentelemetry.io/contrib/bridges/otelslog": false,
	} {
		if got := Plumbing(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// BenchmarkInDo is what a record pays while somebody is inside, at the depth of an
// ordinary program, against when nobody is.
func BenchmarkInDo(b *testing.B) {
	b.Run("nobody", func(b *testing.B) {
		for b.Loop() {
			deep(20, InDo)
		}
	})
	b.Run("somebody", func(b *testing.B) {
		stop, in := make(chan struct{}), make(chan struct{})
		go Do(func() { close(in); <-stop })
		<-in
		for b.Loop() {
			deep(20, InDo)
		}
		close(stop)
	})
}
