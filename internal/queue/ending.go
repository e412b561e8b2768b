package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// linger is how long the work goes on when no caller waits any more, so that a
// caller with a longer deadline can still take it over.
const linger = 100 * time.Millisecond

// lastMoment is what the end of a part gets when the time is already up, and what a
// caller waits for the verdict to be possible.
const lastMoment = 50 * time.Millisecond

// Grace returns ctx, or when it is done a context with 50 ms, so that what is left
// can still be closed.
func Grace(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
}

// Verdict returns the result of an end that was not reached in time. final says
// that no more time will be given: what is unfinished is lost for good.
type Verdict func(timeUp error, final bool) error

// Ending lets any number of callers shut one thing down together. Every method is safe for concurrent use.
type Ending struct {
	ctx     context.Context
	cancel  context.CancelFunc
	verdict Verdict
	ready   <-chan struct{}
	done    chan struct{}
	givenUp atomic.Bool // every caller's time was up before the work was done

	mu      sync.Mutex
	started bool
	over    bool
	callers int // waiting
	timeUp  error
	timer   *time.Timer // of the linger time
	result  error
}

// NewEnding returns an end that nobody has asked for yet. verdict must not wait. It is
// called when ready is closed, or 50 ms after the caller's time was up if that is
// earlier; nil is always ready.
func NewEnding(verdict Verdict, ready <-chan struct{}) *Ending {
	if ready == nil {
		closed := make(chan struct{})
		close(closed)
		ready = closed
	}
	s := &Ending{verdict: verdict, ready: ready, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Context is done when the end is: at the latest when no caller of Wait has been
// left for 100 ms.
func (s *Ending) Context() context.Context { return s.ctx }

// GivenUp reports whether every caller's time was up before the work was done.
func (s *Ending) GivenUp() bool { return s.givenUp.Load() }

// Wait has the first caller's work done on a goroutine of its own, once, and returns
// its result to every caller. A caller whose ctx is done earlier gets a verdict.
// When the last one has got it the work goes on for 100 ms, in which a further
// caller can take it over; then the verdict is everybody's result and the context of
// the work is cancelled. A panic in work is an error.
func (s *Ending) Wait(ctx context.Context, work func(ctx context.Context) error) error {
	s.mu.Lock()
	if s.over {
		defer s.mu.Unlock()
		return s.result
	}
	s.callers++
	s.givenUp.Store(false)
	if s.timer != nil {
		s.timer.Stop()
	}
	if !s.started {
		s.started = true
		go s.run(work)
	}
	s.mu.Unlock()

	select {
	case <-s.done:
	case <-ctx.Done():
		moment := time.NewTimer(lastMoment)
		select {
		case <-s.ready:
		case <-s.done:
		case <-moment.C:
		}
		moment.Stop()
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers--
	if s.over {
		return s.result
	}
	if s.callers == 0 {
		s.givenUp.Store(true)
		s.timeUp = ctx.Err()
		s.timer = time.AfterFunc(linger, s.abandon)
	}
	return s.verdict(ctx.Err(), false)
}

func (s *Ending) run(work func(context.Context) error) {
	var err error
	returned := false
	defer func() {
		if !returned {
			err = outcome.Escaped("shutting down", recover())
		}
		s.end(func() error { return err })
	}()
	err = work(s.ctx)
	returned = true
}

func (s *Ending) abandon() {
	s.mu.Lock()
	abandoned := s.givenUp.Load()
	s.mu.Unlock()
	if abandoned {
		s.end(func() error { return s.verdict(s.timeUp, true) })
	}
}

func (s *Ending) end(result func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	s.result = result()
	s.givenUp.Store(false)
	if s.timer != nil {
		s.timer.Stop()
	}
	close(s.done)
	s.cancel()
}
