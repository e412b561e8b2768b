package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func verdict(timeUp error, final bool) error {
	return fmt.Errorf("verdict, final %v: %w", final, timeUp)
}

func TestOneWorkForAll(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	runs := 0
	s := NewEnding(verdict, nil)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			err := s.Wait(context.Background(), func(context.Context) error { runs++; return failed })
			if !errors.Is(err, failed) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
	if runs != 1 || s.GivenUp() || s.Context().Err() == nil {
		t.Errorf("%d runs, given up %v, context %v", runs, s.GivenUp(), s.Context().Err())
	}
}

func TestBadWork(t *testing.T) {
	t.Parallel()
	for want, work := range map[string]func(context.Context) error{
		"panicked: odd": func(context.Context) error { panic("odd") },
		"Goexit":        func(context.Context) error { runtime.Goexit(); return nil },
	} {
		if err := NewEnding(verdict, nil).Wait(t.Context(), work); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Who has no time gets a verdict; who comes within the linger time gets the result.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := NewEnding(verdict, nil)
	work := func(context.Context) error { <-release; return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, work); err == nil || err.Error() != "verdict, final false: context canceled" || !s.GivenUp() {
		t.Errorf("error %v, given up %v", err, s.GivenUp())
	}
	result := make(chan error)
	go func() { result <- s.Wait(context.Background(), work) }()
	for s.GivenUp() { // until it waits, or, on a slow machine, until it is too late
		runtime.Gosched()
	}
	close(release)
	if err := <-result; err != nil && !strings.Contains(err.Error(), "final true") {
		t.Errorf("error %v", err)
	}
}

func TestAbandoned(t *testing.T) {
	t.Parallel()
	s := NewEnding(verdict, nil)
	ended := make(chan struct{})
	work := func(ctx context.Context) error {
		defer close(ended)
		<-ctx.Done()
		g, cancel := Grace(ctx)
		defer cancel()
		if d, ok := g.Deadline(); g.Err() != nil || !ok || time.Until(d) > lastMoment {
			t.Errorf("grace: %v, deadline %v", g.Err(), d)
		}
		return errors.New("too late")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_ = s.Wait(ctx, work)
	<-ended
	for range 2 {
		if err := s.Wait(context.Background(), work); err == nil || err.Error() != "verdict, final true: context deadline exceeded" {
			t.Errorf("error %v", err)
		}
	}
}

// The verdict waits for what it needs, and not for ever.
func TestReady(t *testing.T) {
	t.Parallel()
	never, already := make(chan struct{}), make(chan struct{})
	close(already)
	for want, ready := range map[string]chan struct{}{"unknown": never, "known": already} {
		s := NewEnding(func(error, bool) error {
			select {
			case <-ready:
				return errors.New("known")
			default:
				return errors.New("unknown")
			}
		}, ready)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Wait(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		<-s.Context().Done()
	}
}

func TestGraceOfTheLiving(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	g, cancelG := Grace(ctx)
	defer cancelG()
	cancel()
	if g.Err() == nil {
		t.Error("not ended with its parent")
	}
}
