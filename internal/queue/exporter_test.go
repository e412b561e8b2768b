package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// What an exporter can do, and what it costs: 10 spans that fail, and then 5 that
// succeed if the exporter ever does.
func TestExporterFailures(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	first := func(do func(ctx context.Context, n int) error) *exporter {
		e, called := &exporter{}, false
		e.do = func(ctx context.Context, n int) error {
			if called {
				return nil
			}
			called = true
			return do(ctx, n)
		}
		return e
	}
	for name, c := range map[string]struct {
		exp    *exporter
		failed uint64
		is     error
		text   string
	}{
		"error":        {first(func(context.Context, int) error { return boom }), 10, boom, "10 of 15 spans lost: boom"},
		"exact":        {first(func(context.Context, int) error { return lossError(3) }), 3, lossError(3), "3 of 15 spans lost: partly refused"},
		"exact, deep":  {first(func(context.Context, int) error { return fmt.Errorf("x: %w", lossError(3)) }), 3, lossError(3), "3 of 15 spans lost: x: partly refused"},
		"too much":     {first(func(context.Context, int) error { return lossError(1000) }), 10, nil, "10 of 15"},
		"negative":     {first(func(context.Context, int) error { return lossError(-1) }), 0, nil, ""},
		"a warning":    {first(func(context.Context, int) error { return lossError(0) }), 0, nil, ""},
		"panic":        {first(func(context.Context, int) error { panic("oh no") }), 10, nil, "panicked: oh no"},
		"panic, error": {first(func(context.Context, int) error { panic(boom) }), 10, boom, "panicked: boom"},
		"Goexit":       {first(func(context.Context, int) error { runtime.Goexit(); return nil }), 10, nil, "called runtime.Goexit"},
		"nil error of a type": {first(func(context.Context, int) error {
			var e *pointerError
			return e
		}), 10, nil, "10 of 15"},
		"time-out": {first(func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }), 10, context.DeadlineExceeded, "context deadline exceeded"},
		"secret":   {first(func(context.Context, int) error { return errors.New("post https://me:hunter2@host/: refused") }), 10, nil, "refused"},
		"typed nil": {(*exporter)(nil), 15, nil,
			"the exporter of spans panicked: runtime error: invalid memory address or nil pointer dereference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := start(c.exp, Config{BatchSize: 10})
				put(p, 10)
				advance(time.Minute)
				put(p, 5)
				advance(time.Minute)
				wantStats(t, p, Stats{Given: 15, Exported: 15 - c.failed, Failed: c.failed})
				err := p.Shutdown(t.Context())
				if c.failed == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				var loss *LossError
				if !errors.As(err, &loss) || loss.Failed != c.failed || loss.Dropped != 0 || loss.Of != 15 {
					t.Fatalf("error %#v", err)
				}
				if c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("error %v is not %v", err, c.is)
				}
				if !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q, want it to have %q", err, c.text)
				}
				if (loss.Cause == nil) != (c.failed == 0) {
					t.Errorf("cause %v", loss.Cause)
				}
			})
		})
	}
}

// pointerError panics when asked anything while nil.
type pointerError struct{ lost int }

func (e *pointerError) Error() string  { return fmt.Sprint(e.lost) }
func (e *pointerError) LostSpans() int { return e.lost }

func TestExporterShutdownFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, down := range map[string]func(context.Context) error{
		"error":  func(context.Context) error { return boom },
		"panic":  func(context.Context) error { panic(boom) },
		"Goexit": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &exporter{doDown: down}
			p := start(e, Config{})
			put(p, 3)
			err := p.Shutdown(t.Context())
			if err == nil || (name != "Goexit" && !errors.Is(err, boom)) {
				t.Errorf("%s: error %v", name, err)
			}
			if again := p.Shutdown(t.Context()); again != err || e.shutdowns() != 1 {
				t.Errorf("%s: then error %v after %d calls", name, again, e.shutdowns())
			}
			wantStats(t, p, Stats{Given: 3, Exported: 3})
		})
	}
}

func TestOnLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var all []*LossError
		calls := func() []*LossError {
			mu.Lock()
			defer mu.Unlock()
			return all
		}
		var p *Queue[item]
		e, next := hold()
		p = start(e, Config{QueueSize: 10, BatchSize: 5, MaxWait: -1, Endpoint: "X", OnLoss: func(s *LossError) {
			mu.Lock()
			all = append(all, s)
			mu.Unlock()
			p.Stats() // no lock is held
			panic("and panic")
		}})
		put(p, 5)
		synctest.Wait()
		put(p, 10)
		synctest.Wait()
		if len(calls()) != 0 {
			t.Errorf("called without a loss: %+v", calls())
		}
		put(p, 100) // while the exporter is stuck
		synctest.Wait()
		if len(calls()) != 1 || calls()[0].Dropped == 0 {
			t.Fatalf("calls %+v, want one, at once", calls())
		}
		put(p, 100)
		synctest.Wait()
		if len(calls()) != 1 {
			t.Errorf("%d calls at once, want one a second", len(calls()))
		}
		advance(time.Second)
		synctest.Wait()
		if len(calls()) != 2 || calls()[1].Dropped != 200 {
			t.Errorf("calls %+v, want a second one", calls())
		}
		advance(time.Hour)
		if len(calls()) != 2 {
			t.Errorf("%d calls, though no more was lost", len(calls()))
		}
		next <- errors.New("refused")
		synctest.Wait()
		if len(calls()) != 3 || calls()[2].Failed != 5 || calls()[2].Error() != fmt.Sprintf("lens: %d of %d spans lost on the way to X: %d dropped because the queue was full, 5 not exported (refused)", 5+calls()[2].Dropped, 5+calls()[2].Dropped, calls()[2].Dropped) {
			t.Errorf("calls %+v, want one for a failed export", calls())
		}
		close(next)
		_ = p.Shutdown(t.Context())
	})
}
