package lenslog

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"go.opentelemetry.io/contrib/bridges/otelslog"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe"

	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// BenchmarkHandler compares with the program's handler alone, in one run: without a
// span it should take the same.
func BenchmarkHandler(b *testing.B) {
	text := slog.NewTextHandler(io.Discard, nil)
	for _, c := range []struct {
		name string
		h    slog.Handler
		ctx  context.Context
	}{
		{"bare", text, context.Background()},
		{"no-span", NewHandler(text), context.Background()},
		{"span", NewHandler(text), spanCtx},
		{"bare-grouped", text.WithGroup("g"), context.Background()},
		{"no-span-grouped", NewHandler(text).WithGroup("g"), context.Background()},
		{"span-grouped", NewHandler(text).WithGroup("g"), spanCtx},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := slog.New(c.h)
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(c.ctx, slog.LevelInfo, "step done", slog.Int("i", 1), slog.Float64("loss", 0.5))
			}
		})
	}
}

// BenchmarkExportHandler compares with the bridge alone, over the same provider.
func BenchmarkExportHandler(b *testing.B) {
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sink{}))
	queued := logpipe.New(logpipe.Settings{Exporter: sink{}})
	defer func() { _ = queued.Shutdown(context.Background()) }()
	for _, c := range []struct {
		name string
		h    slog.Handler
	}{
		{"bridge", otelslog.NewHandler("slog", otelslog.WithLoggerProvider(p))},
		{"lens", NewExportHandler(p)},
		{"lens-queued", NewExportHandler(queued.Provider)},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := slog.New(c.h)
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(spanCtx, slog.LevelInfo, "step done", slog.Int("i", 1), slog.Float64("loss", 0.5))
			}
		})
	}
}

// sink is a processor and an exporter that take everything.
type sink struct{}

func (sink) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (sink) OnEmit(context.Context, *sdklog.Record) error           { return nil }
func (sink) Export(context.Context, []sdklog.Record) error          { return nil }
func (sink) Shutdown(context.Context) error                         { return nil }
func (sink) ForceFlush(context.Context) error                       { return nil }
