package guard

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/nemo-lens/lens/internal/report"
)

// panicError is a panic of the exporter.
type panicError struct {
	call     string
	exporter string
	value    any
}

func (e *panicError) Error() string {
	return fmt.Sprintf("lens: the span exporter %s panicked in %s: %s", e.exporter, e.call, report.Scrub(fmt.Sprint(e.value)))
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
