package gym

import (
	"slices"
	"sync"
	"time"
)

// Slice is a stage of a start-up: what took from Start to End.
type Slice struct {
	Name       string
	Start, End time.Time
}

// Timeline cuts the time since its start into slices. Marked slices follow each
// other without a gap, so that they sum up to the whole. The methods are safe
// for concurrent use. Make one with [NewTimeline].
type Timeline struct {
	now func() time.Time

	mu     sync.Mutex
	start  time.Time
	cursor time.Time
	slices []Slice
}

// NewTimeline returns a timeline that began at start, or begins now when start
// is the zero time.
func NewTimeline(start time.Time) *Timeline { return newTimeline(start, wallClock) }

func newTimeline(start time.Time, now func() time.Time) *Timeline {
	if start.IsZero() {
		start = now()
	}
	return &Timeline{now: now, start: start, cursor: start}
}

// wallClock has no monotonic reading: the times are compared with those of
// other processes.
func wallClock() time.Time { return time.Now().Round(0) }

// Mark closes the slice from the cursor to now and moves the cursor to now. A
// name that was marked before adds another slice. A clock that was set back
// gives an empty slice at the cursor.
func (t *Timeline) Mark(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.now()
	if end.Before(t.cursor) {
		end = t.cursor
	}
	t.slices = append(t.slices, Slice{name, t.cursor, end})
	t.cursor = end
}

// Add records a slice that was measured elsewhere and moves the cursor to its
// end. A slice that ends before it starts is left out.
func (t *Timeline) Add(name string, start, end time.Time) {
	if end.Before(start) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slices = append(t.slices, Slice{name, start, end})
	t.cursor = end
}

// Start returns when the timeline began.
func (t *Timeline) Start() time.Time { return t.start }

// End returns the end of the last slice, or the start when there is none.
func (t *Timeline) End() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.slices) == 0 {
		return t.start
	}
	return t.slices[len(t.slices)-1].End
}

// Slices returns the slices in the order in which they were recorded, in a
// slice that the caller owns.
func (t *Timeline) Slices() []Slice {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.slices)
}
