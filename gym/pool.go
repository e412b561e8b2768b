package gym

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/nemo-lens/lens/gym/connpool"
)

// The labels of requests that go to no server of the run, beside the names of
// servers. See [WithDestination].
const (
	DestinationExternal    = connpool.DefaultDestination
	DestinationRemoteAgent = "remote_agent_service"
)

// WithDestination says which server the requests of ctx go to, for the metrics
// of the pool and of [Transport]: the name of a server of the run,
// [DestinationRemoteAgent], or [DestinationExternal], which is also what an
// empty name and no call mean. It holds for every retry and redirect, and only
// below the returned context.
func WithDestination(ctx context.Context, server string) context.Context {
	return connpool.WithDestination(ctx, server)
}

// PoolSettings are the limits of the connection pool as a run configures them.
type PoolSettings = connpool.Settings

// DefaultPoolSettings returns the limits of a run that sets none.
func DefaultPoolSettings() PoolSettings { return connpool.DefaultSettings() }

// poolReports logs each settings once in a process.
var poolReports = new(connpool.Reporter)

// NewPool puts the connection pool of a process above base; see package
// connpool. A nil base is a clone of [http.DefaultTransport] that keeps as many
// idle connections as the limits admit. Put [Transport] above the pool, so that
// a request is in its span while it queues.
//
// The queue is timed and the acquisitions are counted when metrics are exported
// at the moment of the call, so call it after [InitTelemetry]. Otherwise it is
// the plain pool, with the same limits and no clock.
//
// What the settings mean for the process is logged, once for each distinct
// settings, and there are warnings where they are too small for what the run
// intends. Zero Workers are one. An error names the setting.
func NewPool(base http.RoundTripper, s PoolSettings) (*connpool.Transport, error) {
	if s.Workers == 0 {
		s.Workers = 1
	}
	capacity, err := poolReports.Report(slog.Default(), s)
	if err != nil {
		return nil, err
	}
	return connpool.New(base, capacity.Limits, poolMetrics())
}

// poolMetrics returns nil when the pool is to be a plain one.
func poolMetrics() *connpool.Metrics {
	t, err := active()
	if err != nil {
		return nil
	}
	return t.shared.pool.get(func() (*connpool.Metrics, error) {
		return connpool.NewMetrics(t.meter, connpool.WithLogger(slog.Default()))
	})
}
