package observer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
)

// InFlight counts the requests that are being served, as gym.server.requests.in_flight. It is safe for concurrent use,
// and a nil *InFlight counts nothing.
type InFlight struct {
	now          atomic.Int64
	registration metric.Registration
}

// NewInFlight creates the counter on meter. Build one for each meter: a second one would be observed under the same
// name.
func NewInFlight(meter metric.Meter) (*InFlight, error) {
	if meter == nil {
		return nil, errors.New("lens: counting requests in flight needs a meter: pass one, or use a nil *InFlight")
	}
	f := &InFlight{}
	c, err := meter.Int64ObservableUpDownCounter(InFlightName, metric.WithUnit("{request}"),
		metric.WithDescription("Requests that are being served."))
	if err != nil {
		return nil, fmt.Errorf("lens: create %s: %w", InFlightName, err)
	}
	f.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(c, f.now.Load())
		return nil
	}, c)
	if err != nil {
		return nil, fmt.Errorf("lens: observe %s: %w", InFlightName, err)
	}
	return f, nil
}

// Enter counts a request in; [InFlight.Leave] must follow exactly once.
func (f *InFlight) Enter() {
	if f != nil {
		f.now.Add(1)
	}
}

// Leave counts a request out.
func (f *InFlight) Leave() {
	if f != nil {
		f.now.Add(-1)
	}
}

// Count returns how many requests are being served.
func (f *InFlight) Count() int64 {
	if f == nil {
		return 0
	}
	return f.now.Load()
}

// Middleware counts the requests that next serves, also when it panics. With a nil *InFlight it is next.
func (f *InFlight) Middleware(next http.Handler) http.Handler {
	if f == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Enter()
		defer f.Leave()
		next.ServeHTTP(w, r)
	})
}

// Unregister takes the counter off the meter.
func (f *InFlight) Unregister() error {
	if f == nil {
		return nil
	}
	return f.registration.Unregister()
}
