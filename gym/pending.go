package gym

import (
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens"
)

func handleMeter(h *lens.TelemetryHandle) metric.Meter {
	if m, ok := any(h).(interface{ Meter() metric.Meter }); ok {
		return m.Meter()
	}
	return nil
}

func handleMeterProvider(h *lens.TelemetryHandle) metric.MeterProvider {
	if m, ok := any(h).(interface{ MeterProvider() metric.MeterProvider }); ok {
		return m.MeterProvider()
	}
	return nil
}

func handleLoggerProvider(h *lens.TelemetryHandle) log.LoggerProvider {
	if m, ok := any(h).(interface{ LoggerProvider() log.LoggerProvider }); ok {
		return m.LoggerProvider()
	}
	return nil
}
