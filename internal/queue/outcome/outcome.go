// Package outcome says what became of a call of an exporter: whether it came back,
// and how many of the items it was given are lost.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/nemo-lens/lens/internal/report"
)

// Call runs f on a goroutine of its own and returns its error. A panic in f, and
// runtime.Goexit, are errors that name what. returned is false when ctx was done
// first: f may then still be running, with all that it was given.
func Call(ctx context.Context, what string, f func() error) (err error, returned bool) { //nolint:revive // the error is f's
	result := make(chan error, 1)
	go func() {
		var err error
		ended := false
		defer func() {
			if !ended {
				err = Escaped(what, recover())
			}
			result <- err
		}()
		err = f()
		ended = true
	}()
	select {
	case err := <-result:
		return err, true
	case <-ctx.Done():
	}
	select {
	case err := <-result: // both at once
		return err, true
	default:
		return fmt.Errorf("lens: %s had not come back: %w", what, ctx.Err()), false
	}
}

// Escaped describes a call that did not return. recovered is nil for runtime.Goexit.
func Escaped(what string, recovered any) error {
	if recovered == nil {
		return fmt.Errorf("lens: %s called runtime.Goexit", what)
	}
	if err, ok := recovered.(error); ok {
		return fmt.Errorf("lens: %s panicked: %w", what, err)
	}
	return fmt.Errorf("lens: %s panicked: %s", what, report.Scrub(fmt.Sprint(recovered)))
}

// Lost returns how many of total exported items err means: none for nil; what
// LostSpans says where there is such a method; what the receiver rejected for a
// partial success of the SDK's exporters; and all of them for any other error.
// Joined errors add up. The result is between 0 and total, also when err's methods
// panic, as those of a typed nil do.
func Lost(err error, total int) (n int) {
	defer func() {
		if recover() != nil {
			n = total
		}
	}()
	return lost(err, total)
}

func lost(err error, total int) int {
	if err == nil {
		return 0
	}
	if l, ok := err.(interface{ LostSpans() int }); ok {
		return min(max(l.LostSpans(), 0), total)
	}
	if n, ok := rejected(err); ok {
		return int(min(max(n, 0), int64(total)))
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

// rejected reads a partial success. Each of the SDK's exporters has a type of its
// own for it, internal to its module.
func rejected(err error) (int64, bool) {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type().Name() != "PartialSuccess" {
		return 0, false
	}
	items := v.FieldByName("RejectedItems")
	if !items.IsValid() || !items.CanInt() {
		return 0, false
	}
	return items.Int(), true
}

// Text is what err says, scrubbed of secrets, to be put behind other words.
func Text(err error) string { return strings.TrimPrefix(report.ErrorText(err), "lens: ") }

// Both joins two errors in one line of text.
func Both(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || errors.Is(a, b):
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}
