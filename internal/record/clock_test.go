package record

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A span's start is what the wall clock shows, although that is not read each time.
func TestStartIsOnTheWallClock(t *testing.T) {
	t.Parallel()
	const tolerance = time.Millisecond // clocks are corrected
	_, tracer, _ := newTest(Settings{})
	for until := time.Now().Add(5 * time.Duration(wallLasts)); time.Now().Before(until); {
		before := time.Now().Round(0)
		_, s := tracer.Start(context.Background(), "s")
		start, after := s.(*Span).StartTime(), time.Now().Round(0)
		s.End()
		if start.Before(before.Add(-tolerance)) || start.After(after.Add(tolerance)) {
			t.Fatalf("start at %v, between %v and %v", start, before, after)
		}
	}
}

// The clock of a synctest bubble is another one, in which any time can pass at once.
func TestStartInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, tracer, _ := newTest(Settings{})
		for _, pause := range []time.Duration{0, 1, time.Duration(wallLasts) - 1, 1, time.Hour, 1000 * time.Hour} {
			time.Sleep(pause)
			_, s := tracer.Start(context.Background(), "s")
			time.Sleep(pause)
			s.End()
			own, now := s.(*Span), time.Now().Round(0)
			if !own.EndTime().Equal(now) || !own.StartTime().Equal(now.Add(-pause)) {
				t.Errorf("from %v to %v, want to %v for %v", own.StartTime(), own.EndTime(), now, pause)
			}
		}
	})
}

// An offset that was looked up is used for a while and no longer.
func TestWallClockIsLookedUpAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := newTest(Settings{})
		wall, tick := p.times()
		p.wall.offset.Add(-int64(time.Hour)) // as if the clock had been set since
		if w, k := p.times(); w != wall-int64(time.Hour) || k != tick {
			t.Errorf("%d and %d, want the offset that is known", w, k)
		}
		time.Sleep(time.Duration(wallLasts))
		if w, k := p.times(); w != wall+wallLasts || k != tick+wallLasts {
			t.Errorf("%d and %d, want the clock's own time", w, k)
		}
	})
}
