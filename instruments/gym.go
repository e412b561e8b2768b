package instruments

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/metric"
)

// GymValues is what a server of an evaluation may report. A field that is not
// given is not recorded.
type GymValues struct {
	ServerRequestDuration OptDuration
	RolloutDuration       OptDuration // failed rollouts too
	VerifyDuration        OptDuration
	VerifySuccessRate     OptFloat // fraction of this process's verifications, 0 to 1
	ActiveServers         OptInt   // set by the supervisor, 0 at shutdown
}

// Gym records what the servers of an evaluation do. Names, units and descriptions
// are those of NeMo Lens v0.2.0. It is safe for concurrent use; a nil *Gym records
// nothing.
type Gym struct {
	in     *gymInstruments // nil when nothing can be recorded
	points points
	logger *slog.Logger
	warned warnings
}

type gymInstruments struct {
	request, rollout, verify metric.Float64Histogram
	success                  metric.Float64Gauge
	servers                  metric.Int64Gauge
}

var gymSets perMeter[struct{}, *gymInstruments]

// NewGym returns a recorder for meter. With a nil meter, or one that does nothing,
// it records nothing and costs next to nothing. An instrument that cannot be
// created is logged once for each meter and left out. The points have no
// attributes unless [WithAttributes] gives some.
func NewGym(meter metric.Meter, opts ...Option) *Gym {
	o := newOptions(opts)
	g := &Gym{points: newPoints(o.attrs...), logger: o.logger}
	if inert(meter) {
		return g
	}
	b := &builder{meter: meter}
	in, built := gymSets.get(meter, struct{}{}, func() *gymInstruments {
		in := &gymInstruments{
			request: b.histogram(def{"gym.server.request_duration_ms", "ms", "Gym server request duration in milliseconds.", nil}),
			rollout: b.histogram(def{"gym.rollout.duration_ms", "ms", "Rollout collection duration in milliseconds.", nil}),
			verify:  b.histogram(def{"gym.verify.duration_ms", "ms", "Verification endpoint duration in milliseconds.", nil}),
			success: b.gauge(def{"gym.verify.success_rate", "", "Fraction of successful verifications.", nil}),
			servers: b.intGauge(def{"gym.servers.active", "", "Number of active Gym servers.", nil}),
		}
		if !b.live {
			return nil
		}
		return in
	})
	if built {
		b.report(o.logger, "gym")
	}
	g.in = in
	return g
}

// Record records the values that are given. The trace of ctx, if any, becomes the
// exemplar.
func (g *Gym) Record(ctx context.Context, v GymValues) {
	if g == nil || g.in == nil {
		return
	}
	g.record(ctx, &v)
}

func (g *Gym) record(ctx context.Context, v *GymValues) {
	defer g.warned.recovered(g.logger, "gym")
	in, p := g.in, &g.points
	recordMillis(ctx, in.request, v.ServerRequestDuration, p)
	recordMillis(ctx, in.rollout, v.RolloutDuration, p)
	recordMillis(ctx, in.verify, v.VerifyDuration, p)
	setGauge(ctx, in.success, v.VerifySuccessRate, p)
	if n, ok := v.ActiveServers.Get(); ok && in.servers != nil {
		in.servers.Record(ctx, n, p.record...)
	}
}
