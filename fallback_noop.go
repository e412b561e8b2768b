//go:build lens_noop

package lens

import (
	"context"
	"errors"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	nooplog "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// This file is the whole of lens in a build with the tag lens_noop, beside the
// vocabulary and the configuration: the same API, doing nothing, with neither
// the SDK nor an exporter in the binary.

type (
	// SpanExporter is any in this build.
	SpanExporter = any
	// SpanProcessor is any in this build.
	SpanProcessor = any
	// MetricReader is any in this build.
	MetricReader = any
)

func IsSpanGroupEnabled(SpanGroup) bool          { return false }
func SetEnabledSpanGroups(...SpanGroup) GroupSet { return GroupSet{} }
func SetSpanGroupSpec(string) error              { return nil }
func EnabledSpanGroups() GroupSet                { return GroupSet{} }
func PendingSpanGroups() []string                { return nil }
func warn(string, string)                        {}
func strictRedaction() bool                      { return false }
func Tracer() trace.Tracer                       { return noop.Tracer{} }
func End(span trace.Span, _ *error) {
	if span != nil {
		span.End()
	}
}

func ManagedSpan(ctx context.Context, _ SpanGroup, _ string, _ ...attribute.KeyValue) (context.Context, trace.Span) {
	return ctx, off
}

func ManagedSpanWith(ctx context.Context, _ SpanGroup, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	return ctx, off
}

func SpanCM(ctx context.Context, _ string, _ ...attribute.KeyValue) (context.Context, trace.Span) {
	return ctx, off
}

func TraceFn[In, Out any](_ SpanGroup, _ string, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return fn
}

func TraceErrFn(_ SpanGroup, _ string, fn func(context.Context) error) func(context.Context) error {
	return fn
}

func EmitSpan(context.Context, SpanGroup, string, time.Time, time.Time, ...attribute.KeyValue) (trace.SpanContext, error) {
	return trace.SpanContext{}, nil
}

func LinkedSpan(ctx context.Context, _ string, _ trace.SpanContext, _ ...attribute.KeyValue) (context.Context, trace.Span) {
	return ctx, off
}

func WithSpanAttributes(ctx context.Context, _ ...attribute.KeyValue) context.Context { return ctx }

func GroupTracerProvider(SpanGroup) trace.TracerProvider { return noop.NewTracerProvider() }

func EscalateSpanGroups(string, time.Duration) (revert func(), err error) { return func() {}, nil }

func EscalateOnSignal(string, time.Duration, ...os.Signal) (stop func(), err error) {
	return func() {}, nil
}

func WithTracer(ctx context.Context, _ trace.Tracer) context.Context { return ctx }

// SetupTelemetry starts nothing.
func SetupTelemetry(ctx context.Context, cfg Config, _ ...Option) (*TelemetryHandle, error) {
	if ctx == nil {
		return nil, errors.New("lens: SetupTelemetry: the context is nil; pass context.Background()")
	}
	return &TelemetryHandle{runID: cfg.RunID}, nil
}

// Current returns nil: nothing is ever set up.
func Current() *TelemetryHandle { return nil }

// TelemetryHandle is a set-up that exports nothing.
type TelemetryHandle struct{ runID string }

func (h *TelemetryHandle) Tracer() trace.Tracer             { return noop.Tracer{} }
func (h *TelemetryHandle) canShutDown() bool                { return false }
func (h *TelemetryHandle) IsExporting() bool                { return false }
func (h *TelemetryHandle) Endpoint() string                 { return "" }
func (h *TelemetryHandle) ForceFlush(context.Context) error { return nil }
func (h *TelemetryHandle) Shutdown(context.Context) error   { return nil }
func (h *TelemetryHandle) Stats() Stats                     { return Stats{} }
func (h *TelemetryHandle) Meter() metric.Meter              { return noopmetric.Meter{} }
func (h *TelemetryHandle) MeterProvider() metric.MeterProvider {
	return noopmetric.NewMeterProvider()
}
func (h *TelemetryHandle) LoggerProvider() otellog.LoggerProvider { return nooplog.NewLoggerProvider() }
func (h *TelemetryHandle) OpenSpans() []OpenSpan                  { return nil }

func (h *TelemetryHandle) RunID() string {
	if h == nil {
		return ""
	}
	return h.runID
}

// Check finds nothing wrong in this build, and nothing on.
func Check(_ context.Context, cfg Config, _ time.Duration, _ ...Option) CheckReport {
	return CheckReport{Config: cfg, WorldSize: 1, Off: "this program is built with the tag lens_noop"}
}
