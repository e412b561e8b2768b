package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
	"github.com/nemo-lens/lens/gym/connpool"
	"github.com/nemo-lens/lens/gym/observer"
	"github.com/nemo-lens/lens/gym/operations"
)

// meters is what every process of the run measures. While no metrics are
// exported all of it is nil, which each of these types takes for "off".
type meters struct {
	pool       *connpool.Metrics
	waits      *operations.Waits
	operations *operations.Metrics
	observer   *observer.Observer
	inFlight   *observer.InFlight
}

func startMeters(h *lens.TelemetryHandle, cfg gym.TelemetryConfig, serves bool) (m meters, err error) {
	if !gym.IsMetricsExporterActive() {
		return m, nil
	}
	meter := h.Meter()
	var errs [5]error
	m.pool, errs[0] = connpool.NewMetrics(meter)
	m.waits, errs[1] = operations.NewWaits(meter)
	m.operations, errs[2] = operations.NewMetrics(meter, gym.IsMetricsExporterActive)
	m.observer, errs[3] = observer.Start(meter, observer.Config{
		Interval:  seconds(cfg.EventLoopSampleIntervalSeconds),
		TaskCount: cfg.EventLoopTaskCount,
	})
	if serves {
		m.inFlight, errs[4] = observer.NewInFlight(meter)
	}
	return m, errors.Join(errs[:]...)
}

func (m meters) stop() {
	if m.observer != nil {
		m.observer.Stop()
	}
}

// client traces what it sends, and has at most so many requests under way to
// each server. There is no limit on the total: the agent calls itself, and a
// request that waits for one inside it must not take its place.
func (m meters) client(perServer int) (*http.Client, error) {
	pool, err := connpool.New(nil, connpool.Limits{PerHost: perServer}, m.pool)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: gym.Transport(pool), Timeout: requestTimeout}, nil
}

// requestTimeout is far more than any request here takes.
const requestTimeout = time.Minute

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
