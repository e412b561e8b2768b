// Package safelog keeps what values do in their own methods away from the application
// that logs them: an Error method that panics, as that of a typed nil does, costs its
// text and neither the record nor the application.
package safelog

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"

	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/record/errtype"
)

// Provider returns p with loggers that are safe.
func Provider(p log.LoggerProvider) log.LoggerProvider { return provider{p} }

type provider struct{ log.LoggerProvider }

func (p provider) Logger(name string, opts ...log.LoggerOption) log.Logger {
	return Logger(p.LoggerProvider.Logger(name, opts...))
}

// Logger returns l with an Emit that does not panic.
func Logger(l log.Logger) log.Logger {
	if safe, ok := l.(logger); ok {
		return safe
	}
	return logger{l}
}

type logger struct{ log.Logger }

// Emit asks the record's error nothing itself, which would be for nothing as a rule.
// When emitting panics and the error does too when asked, it was the SDK asking it,
// before a processor had seen the record. Any other panic is a processor's, and to
// emit again could be to emit twice.
func (l logger) Emit(ctx context.Context, r log.Record) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err := r.Err(); err != nil && Panics(err) {
			r.SetErr(Tame(err))
			l.Emit(ctx, r)
			return
		}
		otel.Handle(outcome.Escaped("emitting a log record", p))
	}()
	l.Logger.Emit(ctx, r)
}

// Panics reports whether one of the methods that are asked for the text and the type
// of an error panics.
func Panics(err error) (yes bool) {
	defer func() { yes = recover() != nil }()
	_ = err.Error()
	if e, ok := err.(interface{ ErrorType() string }); ok {
		_ = e.ErrorType()
	}
	return false
}

// Tame returns an error with the text that fmt finds for err, "<nil>" for a typed nil
// as slog has it, and the same type in exception.type.
func Tame(err error) error { return tame{fmt.Sprint(err), errtype.Of(err)} }

type tame struct{ text, typ string }

func (e tame) Error() string     { return e.text }
func (e tame) ErrorType() string { return e.typ }
