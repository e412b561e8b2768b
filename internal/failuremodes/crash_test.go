//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// writeToNilMap panics as programs do by mistake.
func writeToNilMap() {
	none := func() map[string]int { return nil }
	none()["x"]++
}

func TestB4BadExportersCostTheirSpansOnly(t *testing.T) {
	for what, e := range map[string]lens.SpanExporter{
		"panic":     &exporter{export: func(context.Context, []sdktrace.ReadOnlySpan) error { panic("exporter bug") }},
		"nil map":   &exporter{export: func(context.Context, []sdktrace.ReadOnlySpan) error { writeToNilMap(); return nil }},
		"Goexit":    &exporter{export: func(context.Context, []sdktrace.ReadOnlySpan) error { runtime.Goexit(); return nil }},
		"typed nil": (*exporter)(nil),
		"error":     &exporter{export: func(context.Context, []sdktrace.ReadOnlySpan) error { return errRefused }},
	} {
		t.Run(what, func(t *testing.T) {
			tm := setUp(t, config(), lens.WithSpanExporter(e))
			makeSpans(3)
			require.ErrorContains(t, tm.ForceFlush(context.Background()), "3 of 3 spans lost")
			makeSpans(2)
			require.ErrorContains(t, tm.Shutdown(context.Background()), "5 of 5 spans lost")
			requireBalance(t, tm.Stats(), 5)
			require.EqualValues(t, 5, tm.Stats().Failed)
			if what == "panic" {
				require.Equal(t, 1, strings.Count(tm.log.String(), "stack="), "one warning: %s", tm.log)
			}
		})
	}
	for what, shutdown := range map[string]func(context.Context) error{
		"panic in Shutdown":  func(context.Context) error { panic("exporter bug") },
		"Goexit in Shutdown": func(context.Context) error { runtime.Goexit(); return nil },
		"error in Shutdown":  func(context.Context) error { return errRefused },
	} {
		t.Run(what, func(t *testing.T) {
			tm := setUp(t, config(), lens.WithSpanExporter(&exporter{shutdown: shutdown}))
			makeSpans(3)
			require.Error(t, tm.Shutdown(context.Background()))
			require.EqualValues(t, 3, tm.Stats().Exported)
		})
	}
	t.Run("hangs", func(t *testing.T) {
		free := make(chan struct{})
		hang := &exporter{export: func(context.Context, []sdktrace.ReadOnlySpan) error { <-free; return nil }}
		tm := setUp(t, config(within(slack/10)), lens.WithSpanExporter(hang))
		makeSpans(3)
		var err error
		took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
		require.Less(t, took, slack)
		require.ErrorContains(t, err, "3 of 3 spans lost")
		requireBalance(t, tm.Stats(), 3)
		close(free)
	})
}

// badHandler is a log handler with a fault.
type badHandler struct {
	slog.Handler
	fault func()
}

func (h badHandler) Handle(context.Context, slog.Record) error { h.fault(); return nil }

func TestB4BadLoggersCostTheirLines(t *testing.T) {
	s := otlptest.Start(t)
	cfg := config(to(grpcProtocol, s.GRPCURL()))
	for what, logger := range map[string]*slog.Logger{
		"panic":     slog.New(badHandler{slog.DiscardHandler, func() { panic("handler bug") }}),
		"typed nil": slog.New((*badHandler)(nil)),
		"span":      slog.New(badHandler{slog.NewTextHandler(&buffer{}, nil), func() { makeSpans(1) }}),
	} {
		t.Run(what, func(t *testing.T) {
			s.Reset()
			captured(t, &os.Stderr, func() {
				h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithLogger(logger))
				require.NoError(t, err)
				_, span := lens.ManagedSpan(context.Background(), lens.Job, "bad\xff")
				lens.End(span, nil)
				otel.Handle(errRefused)
				require.NoError(t, h.Shutdown(context.Background()))
				require.Equal(t, 1, namesOf(s.Spans())["bad\uFFFD"])
			})
		})
	}
}

// badProcessor is a span processor of the program with a fault in one of its methods.
type badProcessor struct {
	where string
	fault func()
}

func (p badProcessor) at(where string) {
	if p.where == where {
		p.fault()
	}
}
func (p badProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) { p.at("OnStart") }
func (p badProcessor) OnEnd(sdktrace.ReadOnlySpan)                     { p.at("OnEnd") }
func (p badProcessor) Shutdown(context.Context) error                  { p.at("Shutdown"); return nil }
func (p badProcessor) ForceFlush(context.Context) error                { p.at("ForceFlush"); return nil }

func TestB4BadProcessorsCostNothingOfTheProgram(t *testing.T) {
	s := otlptest.Start(t)
	cfg := config(to(grpcProtocol, s.GRPCURL()), within(slack/10))
	free := make(chan struct{})
	defer close(free)
	for _, where := range []string{"OnStart", "OnEnd", "ForceFlush", "Shutdown"} {
		t.Run("panics in "+where, func(t *testing.T) {
			s.Reset()
			tm := setUp(t, cfg, lens.WithSpanProcessor(badProcessor{where, func() { panic("processor bug") }}))
			require.NotPanics(t, func() {
				makeSpans(3)
				_ = tm.ForceFlush(context.Background())
				_, _ = lens.ManagedSpan(context.Background(), lens.Job, "open")
				_ = tm.Shutdown(context.Background())
			})
			require.Equal(t, 4, s.Count(otlptest.Traces))
			require.Contains(t, tm.log.String(), "processor bug")
		})
	}
	for _, where := range []string{"ForceFlush", "Shutdown"} {
		t.Run("hangs in "+where, func(t *testing.T) {
			s.Reset()
			tm := setUp(t, cfg, lens.WithSpanProcessor(badProcessor{where, func() { <-free }}))
			makeSpans(3)
			bounded(t, where, func() {
				_ = tm.ForceFlush(context.Background())
				_ = tm.Shutdown(context.Background())
			})
			require.Equal(t, 3, s.Count(otlptest.Traces))
		})
	}
	t.Run("typed nil", func(t *testing.T) {
		s.Reset()
		var none *badProcessor
		require.NotPanics(t, func() {
			tm := setUp(t, cfg, lens.WithSpanProcessor(none), lens.WithSpanProcessor(nil))
			makeSpans(3)
			_ = tm.Shutdown(context.Background())
		})
		require.Equal(t, 3, s.Count(otlptest.Traces), fmt.Sprint(namesOf(s.Spans())))
	})
}
