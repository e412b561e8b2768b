package operations

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/nemo-lens/lens/internal/record/errtype"
)

// Names of the instruments of [Metrics] and of their attributes.
const (
	QueueDurationName = "gym.resources.operation.queue_duration_ms"
	DurationName      = "gym.resources.operation.duration_ms"
	QueuedName        = "gym.resources.operation.queued"
	ActiveName        = "gym.resources.operation.active"

	OperationKey = attribute.Key("nemo.gym.resources.operation")
	ExecutorKey  = attribute.Key("nemo.gym.resources.executor")
	OutcomeKey   = attribute.Key("nemo.gym.resources.outcome")
)

// DurationBounds returns the bucket bounds of the run histogram, in ms.
func DurationBounds() []float64 {
	return []float64{1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 120000, 300000, 600000, 1800000}
}

// Operation is what is done. Anything but the constants counts as [OtherOperation].
type Operation string

// Executor is where it is done. Anything but the constants counts as [OtherExecutor].
type Executor string

// Outcome is what became of it. Anything but the constants counts as [OtherOutcome].
type Outcome string

const (
	Verify         Operation = "verify"
	Tool           Operation = "tool"
	Judge          Operation = "judge"
	OtherOperation Operation = "other"

	Inline        Executor = "inline"  // in the goroutine of the request
	Thread        Executor = "thread"  // in another goroutine
	Process       Executor = "process" // in a worker process that stays
	Subprocess    Executor = "subprocess"
	OtherExecutor Executor = "other"

	OK           Outcome = "ok"       // it returned no error
	Failed       Outcome = "failed"   // it returned one
	Timeout      Outcome = "timeout"  // one that says a deadline passed
	Canceled     Outcome = "canceled" // one that says it was canceled
	Crashed      Outcome = "crashed"  // it panicked, or ended its goroutine
	OtherOutcome Outcome = "other"
)

func (o Operation) bounded() Operation {
	switch o {
	case Verify, Tool, Judge:
		return o
	}
	return OtherOperation
}

func (e Executor) bounded() Executor {
	switch e {
	case Inline, Thread, Process, Subprocess:
		return e
	}
	return OtherExecutor
}

func (o Outcome) bounded() Outcome {
	switch o {
	case OK, Failed, Timeout, Canceled, Crashed:
		return o
	}
	return OtherOutcome
}

// Metrics holds the instruments of resources operations on one meter. It is safe for concurrent use. A nil *Metrics
// measures nothing: [Metrics.Do] then only enters the limiter.
type Metrics struct {
	active          func() bool
	sets            map[labels]metric.MeasurementOption
	queue, duration metric.Float64Histogram
	queued, running metric.Int64UpDownCounter
}

// NewMetrics creates the instruments. While active reports false nothing is recorded; it is asked once for each
// operation. A nil active always reports true.
func NewMetrics(meter metric.Meter, active func() bool) (*Metrics, error) {
	if meter == nil {
		return nil, errors.New("lens: measuring resources operations needs a meter: pass one, or use a nil *Metrics")
	}
	m := &Metrics{active: active, sets: allSets()}
	var errs []error
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("lens: create %s: %w", name, err))
		}
	}
	histogram := func(name, description string, bounds []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("ms"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(bounds...))
		check(name, err)
		return h
	}
	upDown := func(name, description string) metric.Int64UpDownCounter {
		c, err := meter.Int64UpDownCounter(name, metric.WithUnit("{operation}"), metric.WithDescription(description))
		check(name, err)
		return c
	}
	m.queue = histogram(QueueDurationName, "Time until the limit let an operation in, or until it gave up.", QueueBounds())
	m.duration = histogram(DurationName, "Time an operation ran.", DurationBounds())
	m.queued = upDown(QueuedName, "Operations that wait for the limit to let them in.")
	m.running = upDown(ActiveName, "Operations that run.")
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// labels are the attributes of a point. Without an outcome there are two.
type labels struct {
	operation Operation
	executor  Executor
	outcome   Outcome
}

// allSets builds every attribute set there can be, once: they are few.
func allSets() map[labels]metric.MeasurementOption {
	sets := make(map[labels]metric.MeasurementOption)
	for _, op := range []Operation{Verify, Tool, Judge, OtherOperation} {
		for _, ex := range []Executor{Inline, Thread, Process, Subprocess, OtherExecutor} {
			for _, out := range []Outcome{"", OK, Failed, Timeout, Canceled, Crashed, OtherOutcome} {
				attrs := []attribute.KeyValue{OperationKey.String(string(op)), ExecutorKey.String(string(ex))}
				if out != "" {
					attrs = append(attrs, OutcomeKey.String(string(out)))
				}
				sets[labels{op, ex, out}] = metric.WithAttributeSet(attribute.NewSet(attrs...))
			}
		}
	}
	return sets
}

// Op is an operation that runs.
type Op struct {
	mu      sync.Mutex
	outcome Outcome
}

// SetOutcome says what became of the operation, in place of what its error would say. The last call counts. It is safe for
// concurrent use.
func (o *Op) SetOutcome(outcome Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome = outcome.bounded()
}

// result is the outcome that was set, or else what the end of the operation says.
func (o *Op) result(returned bool, err error) Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.outcome != "":
		return o.outcome
	case !returned:
		return Crashed
	case err == nil:
		return OK
	case errors.Is(err, context.DeadlineExceeded), timedOut(err):
		return Timeout
	case errtype.Canceled(err):
		return Canceled
	}
	return Failed
}

// timedOut asks an error of package net or os.
func timedOut(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// Do enters limiter, runs the operation and leaves limiter. A nil limiter lets everyone in at once. The error is that of
// run, or limiter's, wrapped, when it did not let the operation in. A panic passes through.
//
// The outcome is what run set, and otherwise follows from its end, see the constants.
func (m *Metrics) Do(ctx context.Context, limiter Limiter, operation Operation, executor Executor, run func(*Op) error) error {
	var o *observation
	if m != nil && (m.active == nil || m.active()) {
		o = &observation{
			Metrics: m,
			ctx:     context.WithoutCancel(ctx), // an SDK may drop what comes with an ended context
			labels:  labels{operation: operation.bounded(), executor: executor.bounded()},
		}
	}
	o.enterQueue()
	var err error
	if limiter != nil {
		err = o.acquire(ctx, limiter)
	}
	o.leaveQueue()
	if err != nil {
		return fmt.Errorf("lens: %s operation was not let in by its limit: %w", operation.bounded(), err)
	}
	if limiter != nil {
		defer limiter.Release()
	}
	op, returned := &Op{}, false
	o.startRun()
	defer func() { o.endRun(op.result(returned, err)) }()
	err = run(op)
	returned = true
	return err
}

// observation is the measurement of one operation; nil measures nothing.
type observation struct {
	*Metrics
	ctx    context.Context
	labels labels
	since  time.Time
}

func (o *observation) enterQueue() {
	if o != nil {
		o.since = time.Now()
		safely(func() { o.queued.Add(o.ctx, 1, o.sets[o.labels]) })
	}
}

// acquire leaves the queue also when limiter panics.
func (o *observation) acquire(ctx context.Context, limiter Limiter) error {
	done := false
	defer func() {
		if !done {
			o.leaveQueue()
		}
	}()
	err := limiter.Acquire(ctx)
	done = true
	return err
}

func (o *observation) leaveQueue() {
	if o != nil {
		waited := time.Since(o.since)
		safely(func() {
			o.queued.Add(o.ctx, -1, o.sets[o.labels])
			o.queue.Record(o.ctx, milliseconds(waited), o.sets[o.labels])
		})
	}
}

func (o *observation) startRun() {
	if o != nil {
		o.since = time.Now()
		safely(func() { o.running.Add(o.ctx, 1, o.sets[o.labels]) })
	}
}

func (o *observation) endRun(outcome Outcome) {
	if o != nil {
		ran := time.Since(o.since)
		safely(func() {
			o.running.Add(o.ctx, -1, o.sets[o.labels])
			o.labels.outcome = outcome
			o.duration.Record(o.ctx, milliseconds(ran), o.sets[o.labels])
		})
	}
}
