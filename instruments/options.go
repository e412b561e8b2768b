package instruments

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Option changes how a recorder is made.
type Option func(*options)

type options struct {
	logger    *slog.Logger
	attrs     []attribute.KeyValue
	namespace string
}

// WithAttributes puts attrs on every point of the recorder. Facts that never
// change in the life of the process belong on the resource instead.
func WithAttributes(attrs ...attribute.KeyValue) Option {
	return func(o *options) { o.attrs = append(o.attrs, attrs...) }
}

// WithLogger sends the recorder's warnings to l. Without it, or with nil, they go
// to standard error as text, and not to slog.Default(), which belongs to the
// program.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) { o.logger = l }
}

// WithNamespace replaces the part of the names of [Training] before the last dot,
// [TrainingNamespace]. An empty namespace changes nothing. Other recorders ignore
// it.
func WithNamespace(namespace string) Option {
	return func(o *options) { o.namespace = namespace }
}

func newOptions(opts []Option) options {
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o
}

// points holds the options of one attribute set in the two forms that the metric
// API wants, built once: passing them on costs no allocation.
type points struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func newPoints(attrs ...attribute.KeyValue) points {
	if len(attrs) == 0 {
		return points{}
	}
	// NewSet sorts in place, and attrs may be the caller's.
	opt := metric.WithAttributeSet(attribute.NewSet(append([]attribute.KeyValue(nil), attrs...)...))
	return points{record: []metric.RecordOption{opt}, add: []metric.AddOption{opt}}
}

// warnings logs each kind of trouble once. The zero value is ready, and it is safe
// for concurrent use.
type warnings struct {
	mu   sync.Mutex
	seen map[warning]struct{}
}

type warning struct{ situation, group, key string }

// maxWarnings bounds what is remembered when group names or keys are made up at
// run time. Past it, trouble that was not seen before stays unlogged.
const maxWarnings = 256

// once logs text unless w was logged before. No lock is held while the handler
// runs, so a handler that itself records metrics is harmless.
func (ws *warnings) once(l *slog.Logger, w warning, text string, args ...any) {
	ws.mu.Lock()
	_, seen := ws.seen[w]
	full := len(ws.seen) >= maxWarnings
	if !seen && !full {
		if ws.seen == nil {
			ws.seen = make(map[warning]struct{})
		}
		ws.seen[w] = struct{}{}
	}
	ws.mu.Unlock()
	if seen || full {
		return
	}
	logWarning(l, text, args...)
}

// forget lets every warning about group be logged again.
func (ws *warnings) forget(group string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.seen {
		if w.group == group {
			delete(ws.seen, w)
		}
	}
}

// recovered is deferred around calls into a meter's instruments: no recorder fails
// its caller because of what a meter does.
func (ws *warnings) recovered(l *slog.Logger, group string) {
	if r := recover(); r != nil {
		ws.once(l, warning{"panic", group, ""}, "lens: the meter panicked, values were not recorded",
			"group", group, "panic", fmt.Sprint(r))
	}
}

var stderrLogger = sync.OnceValue(func() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
})

func logWarning(l *slog.Logger, text string, args ...any) {
	if l == nil {
		l = stderrLogger()
	}
	defer func() { _ = recover() }() // the handler is the application's
	l.Log(context.Background(), slog.LevelWarn, text, args...)
}
