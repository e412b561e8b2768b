package connpool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Names of the instruments and of their attributes.
const (
	QueueDurationName = "gym.http.connection_pool.queue_duration_ms"
	ConnectTotalName  = "gym.http.connection_pool.connect_total"

	ConstraintKey  = attribute.Key("nemo.gym.http.connection_pool.queue_constraint")
	OutcomeKey     = attribute.Key("nemo.gym.http.connection_pool.queue_outcome")
	DestinationKey = attribute.Key("nemo.gym.http.destination.server.name")
)

// Constraint names the limit that made a request wait.
type Constraint string

// Outcome tells how a wait ended.
type Outcome string

const (
	Total   Constraint = "total"    // no slot of the total was free when the wait began
	PerHost Constraint = "per_host" // only the host had none

	OK        Outcome = "ok"        // with a slot
	Abandoned Outcome = "abandoned" // without: the request's context ended
)

// QueueDurationBounds returns the bucket bounds of the queue histogram, in ms.
func QueueDurationBounds() []float64 {
	return []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 30000}
}

// Totals counts acquisitions by destination. The zero value is ready.
type Totals struct {
	byDestination sync.Map // string to *destinationTotal
}

type destinationTotal struct {
	count atomic.Int64
	attrs metric.MeasurementOption
}

// processTotals outlives every pool and every meter.
var processTotals Totals

func (t *Totals) add(destination string) {
	v, ok := t.byDestination.Load(destination)
	if !ok {
		v, _ = t.byDestination.LoadOrStore(destination, &destinationTotal{
			attrs: metric.WithAttributeSet(attribute.NewSet(DestinationKey.String(destination))),
		})
	}
	v.(*destinationTotal).count.Add(1)
}

// Count returns the acquisitions counted for destination.
func (t *Totals) Count(destination string) int64 {
	if v, ok := t.byDestination.Load(destination); ok {
		return v.(*destinationTotal).count.Load()
	}
	return 0
}

func (t *Totals) observe(o metric.Observer, c metric.Int64Observable) {
	t.byDestination.Range(func(_, v any) bool {
		d := v.(*destinationTotal)
		o.ObserveInt64(c, d.count.Load(), d.attrs)
		return true
	})
}

// Metrics holds the pool's instruments on one meter. Pools share it: a pool that replaces another goes on counting
// where that one stopped. Build one for each meter; a second one on the same meter would observe the totals twice.
type Metrics struct {
	queue        metric.Float64Histogram
	totals       *Totals
	log          *slog.Logger
	registration metric.Registration
}

// MetricsOption changes how [NewMetrics] counts.
type MetricsOption func(*Metrics)

// WithTotals counts into t instead of into the totals of the process.
func WithTotals(t *Totals) MetricsOption { return func(m *Metrics) { m.totals = t } }

// WithLogger logs at debug level when recording fails. Without it such a failure is silent.
func WithLogger(l *slog.Logger) MetricsOption { return func(m *Metrics) { m.log = l } }

// NewMetrics creates the instruments.
func NewMetrics(meter metric.Meter, opts ...MetricsOption) (*Metrics, error) {
	if meter == nil {
		return nil, errors.New("lens: connection pool metrics need a meter: pass one, or build the pool with nil metrics")
	}
	m := &Metrics{totals: &processTotals}
	for _, opt := range opts {
		opt(m)
	}
	if m.totals == nil {
		m.totals = &processTotals
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if m.queue, err = meter.Float64Histogram(QueueDurationName,
		metric.WithUnit("ms"),
		metric.WithDescription("Time a request waited for a slot of the connection pool. Requests that did not wait record nothing."),
		metric.WithExplicitBucketBoundaries(QueueDurationBounds()...),
	); err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", QueueDurationName, err)
	}
	connects, err := meter.Int64ObservableCounter(ConnectTotalName,
		metric.WithUnit("{connection}"),
		metric.WithDescription("Slots of the connection pool asked for, failed and abandoned ones too."))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", ConnectTotalName, err)
	}
	m.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.totals.observe(o, connects)
		return nil
	}, connects)
	if err != nil {
		return nil, fmt.Errorf("lens: observe %s: %w", ConnectTotalName, err)
	}
	return m, nil
}

// Unregister stops the totals from being observed on this meter. The pools go on working.
func (m *Metrics) Unregister() error { return m.registration.Unregister() }

// recordQueue never changes what the request does: a failing recorder is logged and forgotten.
func (m *Metrics) recordQueue(ctx context.Context, waited time.Duration, c Constraint, o Outcome) {
	defer func() {
		if v := recover(); v != nil {
			m.log.DebugContext(ctx, "lens: the connection pool could not record a queue time", "instrument", QueueDurationName, "panic", v)
		}
	}()
	// An SDK may drop what comes with an ended context, which is just how a wait is abandoned.
	m.queue.Record(context.WithoutCancel(ctx), float64(waited)/float64(time.Millisecond),
		metric.WithAttributeSet(attribute.NewSet(
			ConstraintKey.String(string(c)),
			OutcomeKey.String(string(o)),
			DestinationKey.String(Destination(ctx)),
		)))
}
