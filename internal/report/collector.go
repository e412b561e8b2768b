package report

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// Collector is a slog.Handler that keeps the messages of warnings, each once.
type Collector struct {
	mu   sync.Mutex
	list []string
}

// Enabled implements slog.Handler.
func (c *Collector) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (c *Collector) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.list, text) {
		c.list = append(c.list, text)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (c *Collector) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup implements slog.Handler.
func (c *Collector) WithGroup(string) slog.Handler { return c }

// Texts returns the messages so far.
func (c *Collector) Texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}
