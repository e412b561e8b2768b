package report

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nemo-lens/lens/internal/export/wholeline"
)

// Log writes the library's own messages. It is safe for concurrent use, every
// method may be called on nil and then does nothing, and no method waits for
// another goroutine's handler.
type Log struct {
	handler slog.Handler
	now     func() time.Time

	// failing is the number of kinds with an outage that has not ended, so that
	// Recovered, called after each successful export, is one load as a rule.
	failing atomic.Int64

	mu       sync.Mutex
	kinds    map[string]*kind
	queue    []slog.Record
	draining bool
	lost     int
}

// New returns a Log for logger, or for standard error when logger is nil.
func New(logger *slog.Logger) *Log { return NewAt(logger, time.Now) }

// NewAt is New with a clock.
func NewAt(logger *slog.Logger, now func() time.Time) *Log {
	l := &Log{now: now, kinds: map[string]*kind{}}
	if logger != nil {
		l.handler = logger.Handler()
	} else {
		l.handler = slog.NewTextHandler(standardError{}, nil)
	}
	return l
}

// standardError is os.Stderr as it is at the time of the message. A closed
// standard error costs the message and not the process.
type standardError struct{}

var stderrMu sync.Mutex

func (standardError) Write(p []byte) (int, error) {
	stderrMu.Lock()
	defer stderrMu.Unlock()
	return wholeline.New(os.Stderr).Write(p)
}

// Debug logs msg and the slog arguments at level Debug, without a rate limit.
func (l *Log) Debug(msg string, args ...any) {
	if l != nil {
		l.emit(slog.LevelDebug, msg, args...)
	}
}

// Info logs msg and the slog arguments at level Info, without a rate limit.
func (l *Log) Info(msg string, args ...any) {
	if l != nil {
		l.emit(slog.LevelInfo, msg, args...)
	}
}

// Warn logs msg at level Warn unless kind is being held back; then it is counted.
// An empty kind stands for msg itself. The line has "repeated" with the number
// held back since the previous one, if any.
func (l *Log) Warn(kind, msg string, args ...any) {
	if l == nil {
		return
	}
	if kind == "" {
		kind = msg
	}
	show, repeated := l.failed(kind, msg)
	if !show {
		return
	}
	if repeated > 0 {
		args = append(args[:len(args):len(args)], "repeated", repeated)
	}
	l.emit(slog.LevelWarn, msg, args...)
}

// Recovered ends the outage of kind. If a line was shown for it, one line at
// level Info says msg, how many failures there were and how long it lasted. It
// costs one atomic load while nothing is failing.
func (l *Log) Recovered(kind, msg string, args ...any) {
	if l == nil || l.failing.Load() == 0 {
		return
	}
	if kind == "" {
		kind = msg
	}
	show, failures, lasted := l.recovered(kind)
	if !show {
		return
	}
	l.emit(slog.LevelInfo, msg, append(args[:len(args):len(args)],
		"failures", failures, "after", lasted.Round(time.Millisecond))...)
}

// Flush logs, for each kind with warnings that were held back and never shown,
// one line with their number, and writes what is still queued. It is for the end
// of the application.
func (l *Log) Flush() {
	if l == nil {
		return
	}
	for _, h := range l.heldBack() {
		l.emit(slog.LevelWarn, h.msg, "repeated", h.suppressed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.draining {
		l.drain()
	}
}

// emit queues one record and, unless somebody is at it, writes the queue.
func (l *Log) emit(level slog.Level, msg string, args ...any) {
	if !l.enabled(level) {
		return
	}
	rec := record(l.now(), level, msg, args)
	const maxQueue = 64
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxQueue {
		l.lost++
		return
	}
	l.queue = append(l.queue, rec)
	if l.draining {
		return
	}
	l.drain()
}

// drain runs with l.mu held and gives it up around each call of the handler.
// What it leaves when the handler keeps producing messages, the next message
// takes along.
func (l *Log) drain() {
	l.draining = true
	// Deferred, because a handler may end the goroutine.
	defer func() { l.draining = false }()
	const maxRound = 128
	for i := 0; i < maxRound && len(l.queue) > 0; i++ {
		rec := l.queue[0]
		l.queue = l.queue[1:]
		if l.lost > 0 {
			rec.AddAttrs(slog.Int("messages_lost", l.lost))
			l.lost = 0
		}
		l.handle(rec)
	}
	if len(l.queue) == 0 {
		l.queue = nil
	}
}

func (l *Log) handle(rec slog.Record) {
	l.mu.Unlock()
	defer l.mu.Lock()
	defer func() {
		if p := recover(); p != nil {
			l.fallback(rec, p)
		}
	}()
	_ = l.handler.Handle(context.Background(), rec)
}

// fallback says on standard error what the application's handler could not.
func (l *Log) fallback(rec slog.Record, panicked any) {
	defer func() { _ = recover() }()
	rec.AddAttrs(slog.String("log_handler_panicked", Scrub(text(panicked))))
	_ = slog.NewTextHandler(standardError{}, nil).Handle(context.Background(), rec)
}

func (l *Log) enabled(level slog.Level) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	return l.handler.Enabled(context.Background(), level)
}
