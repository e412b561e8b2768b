package lenslog

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/safelog"
	"github.com/nemo-lens/lens/internal/record/errtype"
)

// naming is a provider whose records have as exception.type the type that says what went
// wrong, as spans have. The SDK would take that of the wrapper.
type naming struct{ log.LoggerProvider }

func (n naming) Logger(name string, opts ...log.LoggerOption) log.Logger {
	return namingLogger{n.LoggerProvider.Logger(name, opts...)}
}

type namingLogger struct{ log.Logger }

func (l namingLogger) Emit(ctx context.Context, r log.Record) {
	if err := r.Err(); err != nil {
		set := false
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			set = kv.Key == "exception.type"
			return !set
		})
		if !set {
			r.AddAttributes(attribute.String("exception.type", typeOf(err)))
		}
	}
	l.Logger.Emit(ctx, r)
}

// typeOf believes an error that names its own type, as the SDK does.
func typeOf(err error) string {
	if named, ok := err.(interface{ ErrorType() string }); ok && !safelog.Panics(err) {
		if name := named.ErrorType(); name != "" {
			return name
		}
	}
	return errtype.Of(err)
}
