package metricpipe

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/report"
)

// sender collects and exports.
type sender struct {
	exp      sdkmetric.Exporter
	reader   *sdkmetric.ManualReader
	timeout  time.Duration
	log      *report.Log
	endpoint string
	end      *queue.Ending
	guard    *callbackGuard

	flushes chan chan error // gets what the exporter's ForceFlush says
	stop    chan struct{}   // closed when the worker is to end
	ended   chan struct{}   // closed when it has

	turn      chan struct{} // to collect
	collected chan struct{} // closed when the last collection was made

	mu       sync.Mutex
	stats    Stats  // of exports that came back
	of       uint64 // points ever collected whose fate is decided
	waiting  int    // points collected and not yet with the exporter
	inflight int    // points with the exporter
	cause    error  // of the last export that lost points
	reported Stats
	ofThen   uint64 // of as of the report
	finished bool   // the numbers are final
}

func newSender(set Settings, end *queue.Ending, collected chan struct{}) *sender {
	s := &sender{
		exp: set.Exporter, timeout: set.Timeout, log: set.Log, endpoint: set.Endpoint, end: end, collected: collected,
		turn: make(chan struct{}, 1), flushes: make(chan chan error), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	s.reader = sdkmetric.NewManualReader(
		sdkmetric.WithTemporalitySelector(s.temporality), sdkmetric.WithAggregationSelector(s.aggregation))
	return s
}

// temporality asks the exporter, which may be the application's.
func (s *sender) temporality(k sdkmetric.InstrumentKind) (t metricdata.Temporality) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Warn("", outcome.Escaped(fmt.Sprintf("Temporality of the metric exporter %T", s.exp), r).Error())
			t = sdkmetric.DefaultTemporalitySelector(k)
		}
	}()
	return s.exp.Temporality(k)
}

func (s *sender) aggregation(k sdkmetric.InstrumentKind) (a sdkmetric.Aggregation) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Warn("", outcome.Escaped(fmt.Sprintf("Aggregation of the metric exporter %T", s.exp), r).Error())
			a = sdkmetric.DefaultAggregationSelector(k)
		}
	}()
	return s.exp.Aggregation(k)
}

// work is the goroutine that exports at the interval.
func (s *sender) work(interval time.Duration) {
	defer close(s.ended)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		default: // it comes before a flush
		}
		select {
		case <-tick.C:
			s.export(s.collect(s.timeout / 2))
		case done := <-s.flushes:
			s.export(s.collect(s.timeout / 2))
			done <- s.call(s.end.Context(), "ForceFlush", s.exp.ForceFlush)
			tick.Reset(interval)
		case <-s.stop:
			return
		}
	}
}

// collect returns what the instruments have, or nil, and counts its points as
// waiting. Callbacks that hang take at most budget of the time.
func (s *sender) collect(budget time.Duration) *metricdata.ResourceMetrics {
	ctx, cancel := context.WithTimeout(withBudget(s.end.Context(), budget), s.timeout)
	defer cancel()
	rm := &metricdata.ResourceMetrics{}
	// Views and exemplar filters are the application's. On a goroutine of its own one that
	// hangs does not keep the worker from ending; callbacks have a guard of their own.
	err, returned := outcome.Call(s.end.Context(), "collecting the metrics", func() error {
		s.turn <- struct{}{} // one at a time
		defer func() { <-s.turn }()
		return s.reader.Collect(ctx, rm)
	})
	if !returned {
		return nil
	}
	if err != nil {
		s.log.Warn("metric collection", "lens: collecting the metrics failed", "error", outcome.Text(err))
	} else {
		s.log.Recovered("metric collection", "lens: collecting the metrics works again")
	}
	n := points(rm)
	s.mu.Lock()
	s.waiting += n
	s.mu.Unlock()
	if len(rm.ScopeMetrics) == 0 {
		return nil
	}
	return rm
}

// missed counts points that a callback did not deliver.
func (s *sender) missed(n int, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.stats.LostPoints += uint64(n)
	s.of += uint64(n)
	s.cause = cause
}

// call has the exporter do something besides exporting, within ctx and the timeout.
func (s *sender) call(ctx context.Context, method string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err, _ := outcome.Call(ctx, fmt.Sprintf("%s of the metric exporter %T", method, s.exp), func() error { return f(ctx) })
	return err
}

// export sends a collection and counts. rm may be nil.
func (s *sender) export(rm *metricdata.ResourceMetrics) {
	if rm == nil {
		return
	}
	n := points(rm)
	s.mu.Lock()
	if s.finished {
		s.mu.Unlock()
		return
	}
	s.waiting -= n
	s.inflight = n
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(s.end.Context(), s.timeout)
	defer cancel()
	began := time.Now()
	err, _ := outcome.Call(s.end.Context(), fmt.Sprintf("Export of the metric exporter %T", s.exp), func() error { return s.exp.Export(ctx, rm) })
	lost := outcome.Lost(err, n)
	if s.settle(n, lost, err, time.Since(began)) {
		s.tell(err, lost)
	}
}

// settle counts an export that came back, and reports whether that was in time.
func (s *sender) settle(n, lost int, err error, took time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished { // without it: its points have been counted as lost
		return false
	}
	s.inflight = 0
	s.stats.Exports++
	if err != nil {
		s.stats.Failed++
	}
	s.stats.Points += uint64(n - lost)
	s.stats.LostPoints += uint64(lost)
	s.of += uint64(n)
	s.stats.LastDuration = took
	s.stats.TotalDuration += took
	if lost > 0 {
		s.cause = err
	}
	return true
}

func (s *sender) tell(err error, lost int) {
	switch {
	case err == nil:
		outcome.Recovered(s.log, what, s.endpoint)
	case lost == 0:
		s.log.Warn("metric export warning", "lens: metrics were exported, with a warning", "error", outcome.Text(err))
	default:
		s.mu.Lock()
		loss := &outcome.LossError{What: what, Endpoint: s.endpoint, Failed: s.stats.LostPoints, Of: s.of, Cause: err}
		s.mu.Unlock()
		loss.Warn(s.log)
	}
}

// what data points are called in errors.
const what = "data points"

// flush collects, exports and waits. Its error says what was lost since the last
// report.
func (s *sender) flush(ctx context.Context) error {
	s.mu.Lock()
	base, of := s.reported, s.ofThen
	s.mu.Unlock()
	done := make(chan error, 1)
	var unfinished error
	select {
	case s.flushes <- done:
		select {
		case unfinished = <-done:
		case <-s.end.Context().Done():
		case <-ctx.Done():
			unfinished = fmt.Errorf("lens: flush: the metrics are not exported yet: %w", ctx.Err())
		}
	case <-s.ended:
	case <-ctx.Done():
		unfinished = fmt.Errorf("lens: flush: the metrics are not collected yet: %w", ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported, s.ofThen = s.stats, s.of
	return outcome.Both(s.loss(s.stats.LostPoints-base.LostPoints, s.of-of, nil), named(s.endpoint, unfinished))
}

// drain makes and sends the last collection, and shuts the exporter down. It returns
// what was lost in the life of the sender.
//
// Callbacks that hang have a quarter of the first caller's time: the rest is for the
// export.
func (s *sender) drain(ctx, caller context.Context) error {
	close(s.stop)
	budget := s.timeout / 2
	if by, ok := caller.Deadline(); ok {
		budget = max(min(budget, time.Until(by)/4), time.Millisecond)
	}
	s.guard.hurry(budget)
	// Now, and not only when the export that may be under way has ended, so that the
	// verdict knows what is lost with it.
	last := s.collect(budget)
	close(s.collected)
	select {
	case <-s.ended:
		s.export(last)
	case <-ctx.Done(): // the verdict says it
	}
	ctx, cancel := queue.Grace(ctx)
	defer cancel()
	err := s.call(ctx, "ForceFlush", s.exp.ForceFlush)
	err = outcome.Both(err, s.call(ctx, "Shutdown", s.exp.Shutdown))
	if err != nil {
		err = fmt.Errorf("lens: shutting down the metric exporter: %w", err)
	}
	_ = s.reader.Shutdown(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish()
	return outcome.Both(s.loss(s.stats.LostPoints, s.of, nil), named(s.endpoint, err))
}

// finish makes the numbers final. s.mu is held.
func (s *sender) finish() {
	if s.finished {
		return
	}
	s.finished = true
	lost := uint64(s.inflight + s.waiting)
	if s.inflight > 0 {
		s.stats.Exports++
		s.stats.Failed++
	}
	s.stats.LostPoints += lost
	s.of += lost
	s.inflight, s.waiting = 0, 0
	s.reported, s.ofThen = s.stats, s.of
}

// verdict returns what is lost when no more time is given.
func (s *sender) verdict(timeUp error, final bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if final {
		s.finish()
	}
	rest := uint64(s.inflight + s.waiting)
	err := s.loss(s.stats.LostPoints+rest, s.of+rest, timeUp)
	select {
	case <-s.collected:
	default:
		err = outcome.Both(err, named(s.endpoint, fmt.Errorf("lens: the last collection has not ended: %w", timeUp)))
	}
	return err
}
