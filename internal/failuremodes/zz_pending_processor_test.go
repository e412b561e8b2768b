//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

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
