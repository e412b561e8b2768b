package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/nemo-lens/lens/internal/errlog"
)

// LossError says how many items of a batch were not delivered. Its text is free
// of what servers answered and of other secrets; errors.Is and errors.As see the
// causes.
type LossError struct {
	things      string // spans when empty
	lost, total int
	causes      []error
	texts       []string
	more        int // causes that are like none of the above and not kept
}

// NewLossError reports lost spans out of total. lost may be 0: the receiver took
// everything and had something to say.
func NewLossError(lost, total int, causes ...error) *LossError {
	e := &LossError{lost: lost, total: total}
	for _, c := range causes {
		e.add(c)
	}
	return e
}

// add keeps a few distinct causes: five hundred spans may fail for one reason.
func (e *LossError) add(cause error) {
	if cause == nil {
		return
	}
	const enough = 4
	text := errlog.ErrorText(cause)
	for _, t := range e.texts {
		if t == text {
			return
		}
	}
	if len(e.causes) >= enough {
		e.more++
		return
	}
	e.causes, e.texts = append(e.causes, cause), append(e.texts, text)
}

// LostSpans returns the number of items that were not delivered.
func (e *LossError) LostSpans() int { return e.lost }

// TooLarge reports false, whatever the causes say: the batch was divided already, and
// parts of it were delivered.
func (e *LossError) TooLarge() bool { return false }

// Unwrap returns the causes.
func (e *LossError) Unwrap() []error { return e.causes }

func (e *LossError) Error() string {
	var b strings.Builder
	things := e.things
	if things == "" {
		things = "spans"
	}
	if e.lost == 0 {
		fmt.Fprintf(&b, "lens: all %d %s delivered, with a warning", e.total, things)
	} else {
		fmt.Fprintf(&b, "lens: %d of %d %s lost", e.lost, e.total, things)
	}
	sep := ": "
	for _, t := range e.texts {
		b.WriteString(sep + t)
		sep = "; "
	}
	if e.more > 0 {
		fmt.Fprintf(&b, "; and %d more reasons", e.more)
	}
	return b.String()
}

// Lost returns how many of total exported spans err means: none for nil; what
// LostSpans says where there is such a method; what the receiver rejected for an
// OTLP partial success; and all of them for any other error. Joined errors add up,
// and the result is between 0 and total.
func Lost(err error, total int) int {
	return min(lost(err, total), total)
}

func lost(err error, total int) int {
	if isNil(err) {
		if err == nil {
			return 0
		}
		return total
	}
	if l, ok := err.(interface{ LostSpans() int }); ok {
		return min(max(l.LostSpans(), 0), total)
	}
	if n, ok := rejected(err); ok {
		return min(max(n, 0), total)
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if inner := u.Unwrap(); inner != nil {
			return lost(inner, total)
		}
	case interface{ Unwrap() []error }:
		if inner := u.Unwrap(); len(inner) > 0 {
			n := 0
			for _, e := range inner {
				n = min(n+lost(e, total), total)
			}
			return n
		}
	}
	return total
}

// rejected reads an OTLP partial success. Each exporter has a type of its own for
// it, internal to its module, and the text around the number is the server's: only
// the fields can be trusted.
func rejected(err error) (int, bool) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().Name() != "PartialSuccess" {
		return 0, false
	}
	items, kind := v.FieldByName("RejectedItems"), v.FieldByName("RejectedKind")
	if !items.IsValid() || !items.CanInt() || !kind.IsValid() || kind.Kind() != reflect.String || kind.String() != "spans" {
		return 0, false
	}
	return int(min(items.Int(), int64(maxSpans))), true
}

const maxSpans = 1 << 30

// panicError is a panic of the exporter.
type panicError struct {
	call     string
	exporter string
	value    any
}

func (e *panicError) Error() string {
	return fmt.Sprintf("lens: the span exporter %s panicked in %s: %s", e.exporter, e.call, errlog.Scrub(fmt.Sprint(e.value)))
}

// Unwrap returns the panic's value when it was an error.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice, reflect.Interface:
		return r.IsNil()
	}
	return false
}

// whatIs names an exporter for a message.
func whatIs(v any) string {
	switch {
	case v == nil:
		return "(nil)"
	case isNil(v):
		return fmt.Sprintf("(nil %T)", v)
	}
	return fmt.Sprintf("%T", v)
}

// endOf names why no more requests are sent.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
