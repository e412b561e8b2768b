package lens

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/errgroup"
)

// TaskGroup runs functions in goroutines of their own, each under a span that
// is a child of the context that the group was made with. It is
// [errgroup.Group] with spans: the first error cancels the context of the
// others and is what Wait returns. Its methods may be called concurrently,
// except SetLimit.
//
// A panic in a function does not kill the process from a goroutine that nobody
// can guard: Wait panics with its value, so that the deferred Shutdown of the
// caller still runs.
type TaskGroup struct {
	group  SpanGroup
	ctx    context.Context
	cancel context.CancelFunc
	tasks  *errgroup.Group

	mu       sync.Mutex
	panicked bool
	value    any
	exited   bool // by runtime.Goexit
}

// NewTaskGroup returns a TaskGroup whose spans obey the group, and the context
// that its functions get, which is cancelled when one of them fails or Wait
// returns.
func NewTaskGroup(ctx context.Context, group SpanGroup) (*TaskGroup, context.Context) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancel(ctx)
	tasks, ctx := errgroup.WithContext(ctx)
	return &TaskGroup{group: group, ctx: ctx, cancel: cancel, tasks: tasks}, ctx
}

// SetLimit makes Go wait while n functions run; negative means no limit. Call
// it before the first Go.
func (g *TaskGroup) SetLimit(n int) { g.tasks.SetLimit(n) }

// Go runs fn in a goroutine, under a span with that name when the span group
// is on. The span starts when the goroutine does.
func (g *TaskGroup) Go(name string, fn func(context.Context) error, attrs ...attribute.KeyValue) {
	attrs = append([]attribute.KeyValue(nil), attrs...)
	g.tasks.Go(func() (err error) {
		finished := false
		defer func() {
			if finished {
				return
			}
			// A panic, or runtime.Goexit, which recover tells apart by nil. The
			// latter returns nothing to errgroup, so the others are stopped here.
			r := recover()
			g.mu.Lock()
			if r == nil {
				g.exited = true
			} else if !g.panicked {
				g.panicked, g.value = true, r
			}
			g.mu.Unlock()
			g.cancel()
			err = context.Canceled
		}()
		err = g.run(name, fn, attrs)
		finished = true
		return err
	})
}

func (g *TaskGroup) run(name string, fn func(context.Context) error, attrs []attribute.KeyValue) (err error) {
	ctx, span := ManagedSpan(g.ctx, g.group, name, attrs...)
	defer End(span, &err)
	return fn(ctx)
}

var errGoexit = errors.New("lens: a function of a TaskGroup ended its goroutine with runtime.Goexit, as t.FailNow does, and returned nothing")

// Wait waits for all functions and returns the first error, also one for a
// function that called runtime.Goexit. It panics with the value of the first
// panic, if there was one.
func (g *TaskGroup) Wait() error {
	err := g.tasks.Wait()
	g.mu.Lock()
	panicked, value, exited := g.panicked, g.value, g.exited
	g.mu.Unlock()
	g.cancel()
	switch {
	case panicked:
		panic(value)
	case exited:
		return errGoexit
	}
	return err
}
