package gym

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// fakeClock is a clock that a test turns.
type fakeClock struct{ t time.Time }

func (c *fakeClock) now() time.Time          { return c.t }
func (c *fakeClock) advance(d time.Duration) { c.t = c.t.Add(d) }
func at(seconds float64) time.Time           { return time.Unix(1_700_000_000, 0).Add(secs(seconds)) }
func secs(seconds float64) time.Duration     { return time.Duration(seconds * float64(time.Second)) }
func clockAt(seconds float64) *fakeClock     { return &fakeClock{at(seconds)} }
func TestTimeline76Marks(t *testing.T) {
	t.Parallel()
	clock := clockAt(5)
	tl := newTimeline(at(0), clock.now)
	assert.Equal(t, at(0), tl.End())
	tl.Mark("a")
	clock.advance(secs(2))
	tl.Mark("b")
	clock.advance(secs(1))
	tl.Mark("a")
	assert.Equal(t, []Slice{{"a", at(0), at(5)}, {"b", at(5), at(7)}, {"a", at(7), at(8)}}, tl.Slices())
	assert.Equal(t, at(8), tl.End())
	assert.Equal(t, at(0), tl.Start())

	tl.Add("elsewhere", at(10), at(12))
	tl.Add("backwards", at(12), at(11))
	clock.t = at(15)
	tl.Mark("c")
	assert.Equal(t, Slice{"c", at(12), at(15)}, tl.Slices()[4])
	clock.t = at(1) // set back
	tl.Mark("d")
	assert.Equal(t, Slice{"d", at(15), at(15)}, tl.Slices()[5])

	got := tl.Slices()
	got[0].Name = "changed"
	assert.Equal(t, "a", tl.Slices()[0].Name)
	assert.Equal(t, at(1), newTimeline(time.Time{}, clock.now).Start(), "the zero start is now")
	assert.WithinDuration(t, time.Now(), NewTimeline(time.Time{}).Start(), time.Minute)
}
