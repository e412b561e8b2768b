// Package errtype says of an error what kind it is: its type for exception.type, and
// whether it is a cancellation, which is no failure. Neither lets a panic of the error's
// own methods out, as those of a typed nil do.
package errtype

import (
	"context"
	"errors"
	"reflect"
	"slices"
)

// maxDepth ends the walk through an error that wraps itself.
const maxDepth = 100

// wrappers are the packages whose unexported types only add text or a stack.
var wrappers = []string{"fmt", "errors", "github.com/pkg/errors", "golang.org/x/xerrors"}

// Of returns the type that says what went wrong, such as *fs.PathError: the first in the
// chain that is not a mere wrapper of package fmt, errors or the like; of joined errors,
// that of the first.
func Of(err error) (name string) {
	defer func() {
		if recover() != nil && name == "" {
			name = reflect.TypeOf(err).String()
		}
	}()
	for range maxDepth {
		inner := unwrapped(err)
		if len(inner) == 0 || !isWrapper(err) {
			break
		}
		err = inner[0]
	}
	return reflect.TypeOf(err).String()
}

func isWrapper(err error) bool {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return slices.Contains(wrappers, t.PkgPath())
}

// unwrapped returns what err wraps, without nils.
func unwrapped(err error) []error {
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = slices.Clone(e.Unwrap())
	}
	return slices.DeleteFunc(inner, func(err error) bool { return err == nil })
}

// Canceled reports whether an error says no more than that something was cancelled:
// context.Canceled, a gRPC status with that code, either of them wrapped, or errors joined
// of nothing else.
func Canceled(err error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return canceled(err, maxDepth)
}

func canceled(err error, depth int) bool {
	if err == nil || depth == 0 {
		return false
	}
	if e, ok := err.(interface{ Is(error) bool }); ok && e.Is(context.Canceled) {
		return true
	}
	if statusCanceled(err) {
		return true
	}
	inner := unwrapped(err)
	if len(inner) == 0 {
		return errors.Is(err, context.Canceled)
	}
	return !slices.ContainsFunc(inner, func(err error) bool { return !canceled(err, depth-1) })
}

// CanceledIn is [Canceled] for what was done with ctx: it also knows the cause that ctx
// was cancelled with, whatever error that is.
func CanceledIn(ctx context.Context, err error) (yes bool) {
	if Canceled(err) {
		return true
	}
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return err != nil && ctx != nil && ctx.Err() == context.Canceled && errors.Is(err, context.Cause(ctx))
}
