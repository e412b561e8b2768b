package observer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// DefaultInterval is the time between two wake-ups.
const DefaultInterval = time.Second

// Config says how to observe. The zero value is the default.
type Config struct {
	// Interval is how long the goroutine sleeps whose lateness is measured (event_loop_sample_interval_seconds). 0 is
	// [DefaultInterval].
	Interval time.Duration

	// TaskCount adds gym.event_loop.tasks and gym.scheduler.goroutines (event_loop_task_count).
	TaskCount bool

	// ProcRoot is where procfs is mounted. Empty is /proc.
	ProcRoot string

	// Logger gets one line about what this platform cannot tell. Nil logs nothing.
	Logger *slog.Logger
}

// Observer is one goroutine and the instruments it serves. Its methods are safe for concurrent use.
type Observer struct {
	interval time.Duration
	lag      metric.Float64Histogram
	runtime  []*replay
	sleep    func(time.Duration, <-chan struct{}) (late time.Duration, ok bool)

	registration metric.Registration
	stop         sync.Once
	done, ended  chan struct{}
}

// Start creates the instruments on meter and begins to observe. The error says what is wrong with the configuration or
// which instrument the meter refused; then nothing runs.
func Start(meter metric.Meter, cfg Config) (*Observer, error) {
	o, err := newObserver(meter, cfg)
	if err != nil {
		return nil, err
	}
	go o.run()
	return o, nil
}

func newObserver(meter metric.Meter, cfg Config) (*Observer, error) {
	if meter == nil {
		return nil, errors.New("lens: the observer needs a meter")
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Interval < 0 {
		return nil, fmt.Errorf("lens: observer interval %s: want more than 0", cfg.Interval)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	o := &Observer{interval: cfg.Interval, sleep: sleep, done: make(chan struct{}), ended: make(chan struct{})}
	i := instruments{meter: meter}
	o.lag = i.histogram(LagName, "ms", "How much later than asked for a sleeping goroutine ran.", LagBounds())
	o.runtime = []*replay{
		newReplay("/sched/latencies:seconds", i.histogram(ScheduleDurationName, "s", "Time goroutines were runnable before they ran; an even sample.", SecondsBounds())),
		newReplay("/sched/pauses/total/gc:seconds", i.histogram(GCPauseName, "s", "Stop-the-world pauses of the garbage collector.", SecondsBounds())),
	}
	i.scheduler(cfg.TaskCount)
	i.process(cfg)
	var err error
	o.registration, err = i.register()
	return o, err
}

// Stop ends the goroutine and waits for it. What the meter reads by itself stays, for the final flush, until
// [Observer.Unregister]. Further calls do nothing.
func (o *Observer) Stop() {
	o.stop.Do(func() { close(o.done) })
	<-o.ended
}

// Unregister takes what the meter reads by itself off it. Do that when a meter lives on without the observer.
func (o *Observer) Unregister() error { return o.registration.Unregister() }

func (o *Observer) run() {
	defer close(o.ended)
	ctx := context.Background()
	for {
		late, ok := o.sleep(o.interval, o.done)
		if ok {
			o.lag.Record(ctx, float64(late)/float64(time.Millisecond))
		}
		for _, r := range o.runtime {
			r.advance(ctx)
		}
		if !ok {
			return
		}
	}
}

// sleep reports by how much the wake-up was late, or false when done came first.
func sleep(d time.Duration, done <-chan struct{}) (time.Duration, bool) {
	start := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return max(0, time.Since(start)-d), true
	case <-done:
		return 0, false
	}
}
