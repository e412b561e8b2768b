package batch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestForceFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fail error
		e := &exporter{}
		e.do = func(context.Context, int) error { advance(time.Second); return fail }
		p := New(e, Config{BatchSize: 10, Delay: time.Hour})
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("nothing to flush: %v", err)
		}
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.ForceFlush(dead); err != nil {
			t.Errorf("nothing to flush, no time: %v", err)
		}
		end(p, 25)
		began := time.Now()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, p, Stats{Ended: 25, Exported: 25})
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("took %v, want three batches of a second", d)
		}

		// Every loss is reported once, with its reason.
		fail = errors.New("refused")
		end(p, 4)
		err := p.ForceFlush(t.Context())
		var loss *LossError
		if !errors.As(err, &loss) || loss.Failed != 4 || loss.Of != 4 || !errors.Is(err, fail) {
			t.Errorf("error %v", err)
		}
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("reported again: %v", err)
		}
		// But both of two callers at the same time hear of it.
		end(p, 3)
		got := make(chan error, 2)
		for range 2 {
			go func() { got <- p.ForceFlush(t.Context()) }()
		}
		for range 2 {
			if err := <-got; !errors.As(err, &loss) || loss.Failed != 3 {
				t.Errorf("error %v", err)
			}
		}
		// Shutdown speaks of the whole run.
		fail = nil
		end(p, 1)
		if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Failed != 7 || loss.Of != 33 {
			t.Errorf("error %v", err)
		}
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("reported after shutdown: %v", err)
		}
		end(p, 2)
		if err := p.ForceFlush(t.Context()); !errors.As(err, &loss) || loss.Dropped != 2 ||
			err.Error() != "lens: 2 of 2 spans lost: 2 dropped because they ended after shutdown" {
			t.Errorf("error %v", err)
		}
	})
}

func TestForceFlushOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := New(e, Config{BatchSize: 10, Delay: time.Hour})
		end(p, 14)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := p.ForceFlush(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "lens: flush: 14 spans not exported yet: context deadline exceeded" {
			t.Errorf("error %v", err)
		}
		wantStats(t, p, Stats{Ended: 14, Queued: 14})
		p.mu.Lock()
		if len(p.flushers) != 0 {
			t.Error("the flush is still remembered")
		}
		p.mu.Unlock()

		// A loss and spans that still wait, in one error.
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { next <- errors.New("refused") }()
		err = p.ForceFlush(short)
		var loss *LossError
		if !errors.As(err, &loss) || loss.Failed != 10 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(next)
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		_ = p.Shutdown(t.Context())
	})
}

// A flush that waits when the processor shuts down returns with the outcome.
func TestForceFlushDuringShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &exporter{do: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		p := New(e, Config{BatchSize: 10})
		end(p, 30)
		flushed := make(chan error)
		go func() { flushed <- p.ForceFlush(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = p.Shutdown(ctx)
		var loss *LossError
		if err := <-flushed; !errors.As(err, &loss) || loss.Dropped != 20 || loss.Failed != 10 {
			t.Errorf("error %v", err)
		}
	})
}
