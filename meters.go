//go:build !lens_noop

package lens

import (
	"fmt"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	otellog "go.opentelemetry.io/otel/log"
	nooplog "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
)

// Meter returns a meter with the scope "nemo.lens", of [TelemetryHandle.MeterProvider].
func (h *TelemetryHandle) Meter() metric.Meter { return h.MeterProvider().Meter(scopeLens) }

// MeterProvider returns the provider of metrics, one that records nothing when
// they are off in this set-up. Its instruments and callbacks may be kept: after
// Shutdown they record nothing, and after another set-up they record into that.
// The global provider, when it is lens's, is the same one. Callbacks that the
// same code registers again after another set-up replace those from before.
func (h *TelemetryHandle) MeterProvider() metric.MeterProvider {
	if !h.IsExporting() || h.pipeline.Metrics == nil {
		return noopmetric.NewMeterProvider()
	}
	return globalMeters
}

// LoggerProvider returns the provider of log records, for the handlers of
// package lenslog, one that records nothing when they are off in this set-up.
// Its loggers may be kept over set-ups, as the instruments of MeterProvider.
func (h *TelemetryHandle) LoggerProvider() otellog.LoggerProvider {
	if !h.IsExporting() || h.pipeline.Logs == nil {
		return nooplog.NewLoggerProvider()
	}
	return globalLoggers
}

func startRuntimeMetrics(p metric.MeterProvider) {
	if err := runtime.Start(runtime.WithMeterProvider(p)); err != nil {
		log().Warn("runtime metrics", fmt.Sprintf("the metrics of the Go runtime are not reported: %v", err))
	}
}
