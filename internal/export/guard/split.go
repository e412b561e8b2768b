package guard

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// RequestBytes is the most that a request should have, before compression. It leaves a
// margin below the 4 MiB that a gRPC server accepts if it was not told otherwise.
const RequestBytes = 4<<20 - 32<<10

// Split has send deliver the items from 0 up to n in as few requests as fit: all of
// them, and where [TooLarge] says of an error that there were too many, each half. send
// gets the range of a request, and may itself refuse one before it is sent. When ctx
// is done after the first request, what is not sent yet is lost.
//
// It returns nil when everything was delivered. Otherwise it is the error of send when
// there was one request, and else a [*outcome.LossError] about things.
func Split(ctx context.Context, things string, n int, send func(from, to int) error) error {
	s := splitting{ctx: ctx, n: n, send: send}
	s.part(0, n)
	if s.whole != nil {
		return s.whole
	}
	if cause := s.reasons.Err(); cause != nil {
		return &outcome.LossError{What: things, Failed: uint64(s.lost), Of: uint64(n), Cause: cause}
	}
	return nil
}

type splitting struct {
	ctx     context.Context
	n       int
	send    func(from, to int) error
	sent    bool
	whole   error // of a request with all items
	lost    int
	reasons outcome.Reasons
}

func (s *splitting) part(from, to int) {
	if from == to {
		return
	}
	var err error
	if s.sent && s.ctx.Err() != nil {
		err = endOf(s.ctx)
	} else {
		err = s.send(from, to)
	}
	if to-from > 1 && TooLarge(err) {
		half := from + (to-from)/2
		s.part(from, half)
		s.part(half, to)
		return
	}
	s.sent = true
	if err != nil && to-from == s.n {
		s.whole = err
	} else if err != nil {
		s.lost += outcome.Lost(err, to-from)
		s.reasons.Add(err)
	}
}

// OversizeError says that one item is larger than a request may be.
type OversizeError struct {
	What        string // the item, as in `span "x"`
	Size, Limit int    // in bytes
}

// TooLarge reports true: with other items such a request may be divided.
func (e *OversizeError) TooLarge() bool { return true }

func (e *OversizeError) Error() string {
	return fmt.Sprintf("lens: %s takes %d bytes and one request may have %d: shorten its attributes or lower the text limit",
		e.What, e.Size, e.Limit)
}
