package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/internal/record"
)

// The instrumentation scopes of lens itself, as the reference has them.
const (
	Scope        = "nemo.lens"
	HelpersScope = "nemo.lens.helpers"
)

// The names are those of OpenTelemetry's conventions for SDKs
// (https://opentelemetry.io/docs/specs/semconv/otel/sdk-metrics/), where they
// have one.
const (
	healthStarted   = "otel.sdk.span.started"
	healthLive      = "otel.sdk.span.live"
	healthProcessed = "otel.sdk.processor.span.processed"
	healthQueue     = "otel.sdk.processor.span.queue.size"
	healthExported  = "otel.sdk.exporter.span.exported"
	healthDuration  = "otel.sdk.exporter.operation.duration"
	healthGroups    = "nemo.lens.span_groups.enabled"
)

var (
	queueFull = metric.WithAttributes(attribute.String("error.type", "queue_full"))
	exportErr = metric.WithAttributes(attribute.String("error.type", "_OTHER"))
)

// reportHealth makes the pipeline's own numbers metrics. They are read when
// metrics are collected and cost nothing in between.
func (p *Pipeline) reportHealth() {
	meter := p.Metrics.Provider.Meter(Scope)
	groups, err := meter.Int64ObservableGauge(healthGroups, metric.WithUnit("{group}"), metric.WithDescription("Span groups that are switched on"))
	if p.Traces == nil || err != nil {
		return
	}
	counter := func(name, unit, description string) metric.Int64ObservableCounter {
		c, e := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		err = errors.Join(err, e)
		return c
	}
	level := func(name, unit, description string) metric.Int64ObservableUpDownCounter {
		c, e := meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		err = errors.Join(err, e)
		return c
	}
	started := counter(healthStarted, "{span}", "Spans that were started and sampled")
	processed := counter(healthProcessed, "{span}", "Ended spans that left the queue, or were dropped before it")
	exported := counter(healthExported, "{span}", "Spans that the exporter is done with")
	live := level(healthLive, "{span}", "Spans that have started and not ended")
	queue := level(healthQueue, "{span}", "Ended spans that wait for the exporter, or are with it")
	if err == nil {
		_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			c := p.Traces.Counts()
			o.ObserveInt64(started, int64(p.Traces.Started()))
			o.ObserveInt64(live, int64(p.Traces.Open()))
			o.ObserveInt64(processed, int64(c.Exported+c.Failed))
			o.ObserveInt64(processed, int64(c.Dropped), queueFull)
			o.ObserveInt64(queue, int64(c.Queued))
			o.ObserveInt64(exported, int64(c.Exported))
			o.ObserveInt64(exported, int64(c.Failed), exportErr)
			on := int64(p.groups())
			if ended := p.groupsAtEnd.Load(); ended > 0 {
				on = ended - 1
			}
			o.ObserveInt64(groups, on)
			return nil
		}, started, live, processed, queue, exported, groups)
	}
	if err != nil {
		p.log.Warn("health metrics", fmt.Sprintf("lens's own metrics are not reported: %v", err))
	}
}

// timedExporter measures how long exports take.
type timedExporter struct {
	SpanExporter
	duration metric.Float64Histogram
}

func timed(e SpanExporter, meters metric.MeterProvider) SpanExporter {
	if e == nil {
		return nil
	}
	duration, err := meters.Meter(Scope).Float64Histogram(healthDuration, metric.WithUnit("s"),
		metric.WithDescription("Duration of one export of spans, with its retries"),
		// The SDK's default boundaries are for milliseconds.
		metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30))
	if err != nil {
		return e
	}
	return timedExporter{e, duration}
}

func (t timedExporter) Export(ctx context.Context, spans []*record.Span) error {
	start := time.Now()
	err := t.SpanExporter.Export(ctx, spans)
	seconds := time.Since(start).Seconds()
	// Not the context of the export, which may be over.
	if err != nil {
		t.duration.Record(context.Background(), seconds, exportErr)
	} else {
		t.duration.Record(context.Background(), seconds)
	}
	return err
}
