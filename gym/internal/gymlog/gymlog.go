// Package gymlog is where gym and its internal packages log: standard error, or
// the logger of gym.WithLogger. slog.Default() belongs to the application.
package gymlog

import (
	"log/slog"
	"sync/atomic"

	"github.com/nemo-lens/lens/internal/report"
)

var current atomic.Pointer[report.Log]

func init() { current.Store(report.New(nil)) }

// Log returns the log, which holds repeated warnings back.
func Log() *report.Log { return current.Load() }

// Set makes l the logger from here on, and returns how to undo that. A nil l is
// standard error.
func Set(l *slog.Logger) (restore func()) {
	before := current.Swap(report.New(l))
	return func() { current.Store(before) }
}
