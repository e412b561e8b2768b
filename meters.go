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

// Meter returns a meter with the scope "nemo.lens". Without an export of
// metrics its instruments record nothing.
func (h *TelemetryHandle) Meter() metric.Meter { return h.MeterProvider().Meter(scopeLens) }

// MeterProvider returns the provider of the set-up's metrics, one that records
// nothing when they are off.
func (h *TelemetryHandle) MeterProvider() metric.MeterProvider {
	if !h.IsExporting() || h.pipeline.metrics == nil {
		return noopmetric.NewMeterProvider()
	}
	return h.pipeline.metrics.Provider
}

// LoggerProvider returns the provider of the set-up's log records, for the
// handlers of package lenslog; it records nothing when logs are off.
func (h *TelemetryHandle) LoggerProvider() otellog.LoggerProvider {
	if !h.IsExporting() || h.pipeline.logs == nil {
		return nooplog.NewLoggerProvider()
	}
	return h.pipeline.logs.Provider
}

func startRuntimeMetrics(p metric.MeterProvider) {
	if err := runtime.Start(runtime.WithMeterProvider(p)); err != nil {
		log().Warn("runtime metrics", fmt.Sprintf("the metrics of the Go runtime are not reported: %v", err))
	}
}
