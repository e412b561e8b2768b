package operations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/semaphore"
)

// The instrument of [Waits] and its attribute.
const (
	WaitName = "gym.concurrency.queue_wait_duration_ms"
	SiteKey  = attribute.Key("nemo.gym.concurrency.site")
)

// QueueBounds returns the bucket bounds of both queue histograms, in ms.
func QueueBounds() []float64 {
	return []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 300000, 600000}
}

// Limiter bounds work. Release gives back what one successful Acquire took.
type Limiter interface {
	Acquire(ctx context.Context) error
	Release()
}

// Waits is the instrument that semaphores record into. It is safe for concurrent use.
type Waits struct{ duration metric.Float64Histogram }

// NewWaits creates the instrument on meter.
func NewWaits(meter metric.Meter) (*Waits, error) {
	if meter == nil {
		return nil, errors.New("lens: timing semaphores needs a meter: pass one, or give the semaphores nil waits")
	}
	h, err := meter.Float64Histogram(WaitName, metric.WithUnit("ms"),
		metric.WithDescription("Time until a limit on concurrency let the caller in."),
		metric.WithExplicitBucketBoundaries(QueueBounds()...))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", WaitName, err)
	}
	return &Waits{h}, nil
}

// Semaphore is a limit on concurrency that times its queue. First come, first served. It is safe for concurrent use, and
// a nil *Semaphore is no limit: it lets everyone in and measures nothing.
type Semaphore struct {
	slots   *semaphore.Weighted
	waits   *Waits
	enabled func() bool
	site    metric.MeasurementOption
}

// NewSemaphore lets n in at once, or returns nil, which is no limit, if n is 0 or less. Site names the limit, such as
// "rollout_driver", "model.<name>" or "sandbox.<provider>"; it becomes an attribute, so let there be few.
//
// It records into waits while enabled reports true, which is asked once for each acquisition; a nil enabled always does.
// Without waits it is a plain semaphore that reads no clock.
func NewSemaphore(n int, site string, waits *Waits, enabled func() bool) *Semaphore {
	if n <= 0 {
		return nil
	}
	return &Semaphore{
		slots:   semaphore.NewWeighted(int64(n)),
		waits:   waits,
		enabled: enabled,
		site:    metric.WithAttributeSet(attribute.NewSet(SiteKey.String(site))),
	}
}

// Acquire waits until it is let in, or returns ctx's error. [Semaphore.Release] must follow a nil error exactly once.
func (s *Semaphore) Acquire(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if s.waits == nil || s.enabled != nil && !s.enabled() {
		return s.slots.Acquire(ctx, 1)
	}
	start := time.Now()
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	waited := time.Since(start)
	safely(func() { s.waits.duration.Record(context.WithoutCancel(ctx), milliseconds(waited), s.site) })
	return nil
}

// Release lets the next one in. It panics when nobody is in.
func (s *Semaphore) Release() {
	if s != nil {
		s.slots.Release(1)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// safely keeps a failing recorder from the work it measures.
func safely(record func()) {
	defer func() {
		if v := recover(); v != nil {
			slog.Debug("lens: recording an operation failed", "panic", v)
		}
	}()
	record()
}
