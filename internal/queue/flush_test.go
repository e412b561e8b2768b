package queue

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
		p := start(e, Config{BatchSize: 10, Delay: time.Hour})
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("nothing to flush: %v", err)
		}
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Flush(dead); err != nil {
			t.Errorf("nothing to flush, no time: %v", err)
		}
		put(p, 25)
		began := time.Now()
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		wantStats(t, p, Stats{Given: 25, Exported: 25})
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("took %v, want three batches of a second", d)
		}

		// Every loss is reported once, with its reason.
		fail = errors.New("refused")
		put(p, 4)
		err := p.Flush(t.Context())
		var loss *LossError
		if !errors.As(err, &loss) || loss.Failed != 4 || loss.Of != 4 || !errors.Is(err, fail) {
			t.Errorf("error %v", err)
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("reported again: %v", err)
		}
		// But both of two callers at the same time hear of it.
		put(p, 3)
		got := make(chan error, 2)
		for range 2 {
			go func() { got <- p.Flush(t.Context()) }()
		}
		for range 2 {
			if err := <-got; !errors.As(err, &loss) || loss.Failed != 3 {
				t.Errorf("error %v", err)
			}
		}
		// Shutdown speaks of the whole run.
		fail = nil
		put(p, 1)
		if err := p.Shutdown(t.Context()); !errors.As(err, &loss) || loss.Failed != 7 || loss.Of != 33 {
			t.Errorf("error %v", err)
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("reported after shutdown: %v", err)
		}
		put(p, 2)
		if err := p.Flush(t.Context()); !errors.As(err, &loss) || loss.Dropped != 2 ||
			err.Error() != "lens: 2 of 2 spans lost: dropped because they came after shutdown" {
			t.Errorf("error %v", err)
		}
	})
}

func TestForceFlushOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, next := hold()
		p := start(e, Config{BatchSize: 10, Delay: time.Hour})
		put(p, 14)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := p.Flush(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "lens: flush: 14 spans not exported yet: context deadline exceeded" {
			t.Errorf("error %v", err)
		}
		wantStats(t, p, Stats{Given: 14, Queued: 14})
		p.mu.Lock()
		if len(p.flushers) != 0 {
			t.Error("the flush is still remembered")
		}
		p.mu.Unlock()

		// A loss and spans that still wait, in one error.
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { next <- errors.New("refused") }()
		err = p.Flush(short)
		var loss *LossError
		if !errors.As(err, &loss) || loss.Failed != 10 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(next)
		if err := p.Flush(t.Context()); err != nil {
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
		p := start(e, Config{BatchSize: 10})
		put(p, 30)
		flushed := make(chan error)
		go func() { flushed <- p.Flush(context.Background()) }()
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
