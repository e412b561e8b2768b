package globals

import (
	"context"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
)

// Loggers is a logger provider whose loggers emit to the provider that is in use at that
// moment, and drop the record when there is none. The zero value has none. It is safe for
// concurrent use.
type Loggers struct {
	embedded.LoggerProvider
	current atomic.Pointer[logTarget]
}

// logTarget gives each set-up an identity that can be compared.
type logTarget struct{ provider log.LoggerProvider }

// Use makes p the provider that records are emitted to; nil stands for none.
func (l *Loggers) Use(p log.LoggerProvider) {
	if p == nil {
		l.current.Store(nil)
		return
	}
	l.current.Store(&logTarget{p})
}

// Logger implements log.LoggerProvider.
func (l *Loggers) Logger(name string, opts ...log.LoggerOption) log.Logger {
	return &logger{from: l, name: name, opts: slices.Clone(opts)}
}

type logger struct {
	embedded.Logger
	from *Loggers
	name string
	opts []log.LoggerOption
	last atomic.Pointer[boundLogger]
}

// boundLogger is kept because making a logger takes the provider's lock.
type boundLogger struct {
	to *logTarget
	log.Logger
}

// bound returns the logger of the provider in use, or nil.
func (l *logger) bound() *boundLogger {
	to, last := l.from.current.Load(), l.last.Load()
	switch {
	case to == nil:
		if last != nil {
			l.last.CompareAndSwap(last, nil) // so that a set-up that has ended is freed
		}
		return nil
	case last != nil && last.to == to:
		return last
	}
	last = &boundLogger{to, to.provider.Logger(l.name, l.opts...)}
	l.last.Store(last)
	return last
}

// Emit implements log.Logger.
func (l *logger) Emit(ctx context.Context, r log.Record) {
	if b := l.bound(); b != nil {
		b.Logger.Emit(ctx, r)
	}
}

// Enabled implements log.Logger.
func (l *logger) Enabled(ctx context.Context, p log.EnabledParameters) bool {
	b := l.bound()
	return b != nil && b.Logger.Enabled(ctx, p)
}
