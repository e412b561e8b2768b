package outcome

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

type lostSome int

func (l lostSome) Error() string  { return fmt.Sprint("lost ", int(l)) }
func (l lostSome) LostSpans() int { return int(l) }

// PartialSuccess is like those of the SDK's exporters.
type PartialSuccess struct {
	RejectedItems int64
	RejectedKind  string
}

func (PartialSuccess) Error() string { return "partial" }

type pointer struct{ n int }

func (p *pointer) Error() string  { return fmt.Sprint(p.n) }
func (p *pointer) LostSpans() int { return p.n }

type nilError struct{ inner error }

func (e *nilError) Error() string { return e.inner.Error() }
func (e *nilError) Unwrap() error { return e.inner }

func TestLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {io.EOF, 10}, {lostSome(3), 3}, {lostSome(-3), 0}, {lostSome(300), 10}, {lostSome(0), 0},
		{fmt.Errorf("wrapped: %w", lostSome(3)), 3},
		{errors.Join(lostSome(3), lostSome(4)), 7}, {errors.Join(lostSome(3), io.EOF), 10}, {errors.Join(lostSome(9), lostSome(9)), 10},
		{&LossError{Failed: 4, Of: 10, Cause: io.EOF}, 4}, {&LossError{Of: 10, Cause: io.EOF}, 0}, {&LossError{Failed: 1 << 63}, 10},
		{(*LossError)(nil), 10}, {(*nilError)(nil), 10}, {(*pointer)(nil), 10},
		{PartialSuccess{4, "spans"}, 4}, {&PartialSuccess{4, "log records"}, 4},
		{PartialSuccess{1 << 62, "spans"}, 10}, {PartialSuccess{-1, "spans"}, 0}, {(*PartialSuccess)(nil), 10},
	} {
		if got := Lost(c.err, 10); got != c.want {
			t.Errorf("Lost(%T %v) = %d, want %d", c.err, c.err == nil, got, c.want)
		}
	}
}

// Each number is said once, also when one loss is the cause of another.
func TestLossErrorText(t *testing.T) {
	t.Parallel()
	several := func(errs ...error) error {
		var r Reasons
		for _, err := range errs {
			r.Add(err)
		}
		return r.Err()
	}
	slow := errors.New("lens: slow down, token=abc")
	batch := &LossError{What: "spans", Failed: 12, Of: 512, Cause: several(io.EOF, slow)}
	for want, err := range map[string]*LossError{
		"lens: 3 of 10 spans lost: EOF": {What: "spans", Failed: 3, Of: 10, Cause: several(io.EOF, nil, io.EOF)},
		"lens: 12 of 300 spans lost on the way to http://x: EOF; slow down, token=[REDACTED]": {
			What: "spans", Endpoint: "http://x", Failed: 12, Of: 300, Cause: batch},
		"lens: 15 of 300 spans lost: 3 dropped because the queue was full, 12 not exported (time up; EOF; slow down, token=[REDACTED])": {
			What: "spans", Dropped: 3, Full: 3, Failed: 12, Of: 300, Cause: several(errors.New("time up"), batch)},
		"lens: all 10 log records delivered to x, with a warning: slow down, token=[REDACTED]": {
			What: "log records", Endpoint: "x", Of: 10, Cause: slow},
		"lens: 2 of 2 spans lost": {What: "spans", Failed: 2, Of: 2},
		"lens: 2 of 3 spans lost: dropped because they came after shutdown": {
			What: "spans", Dropped: 2, Late: 2, Of: 3},
		"lens: 5 of 5 spans lost: dropped because they still waited when the time was up (EOF)": {
			What: "spans", Dropped: 5, Left: 5, Of: 5, Cause: io.EOF},
		"lens: 9 of 9 spans lost: a; b; c; d; and 2 more reasons": {What: "spans", Failed: 9, Of: 9, Cause: several(
			errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d"), errors.New("e"), errors.New("f"), errors.New("a"))},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if err := batch; !errors.Is(err, io.EOF) || !errors.Is(err, slow) {
		t.Error("the causes cannot be seen")
	}
}
