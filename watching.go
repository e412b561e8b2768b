//go:build !lens_noop

package lens

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/record/stall"
)

// watching is what looks at the open spans of a set-up: the flight recorder's file and
// the search for stalled spans, each nil when it is off.
type watching struct {
	file  *flight.Recorder
	stall *stall.Watch
}

// openFlight starts the file that FlightDir asks for. It never fails a set-up: what is
// wrong is a warning.
func openFlight(o *options, cfg Config, runID string) *flight.Recorder {
	if cfg.FlightDir == "" || !cfg.TracesEnabled {
		return nil
	}
	host, _ := os.Hostname()
	file, err := flight.Open(flight.Options{
		Dir: cfg.FlightDir, RunID: runID, Host: host, Service: cfg.ServiceName,
		Rank: o.rank, WorldSize: o.worldSize, Restart: restarts(os.Getenv),
		Redact:  func(key string) bool { return isRedacted(key, nil) },
		OnFault: func(err error) { log().Warn("flight recorder", "lens: "+err.Error()) },
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		log().Warn("flight recorder", fmt.Sprintf("lens: %v; %s is ignored", err, cfg.variableOr("FLIGHT_DIR", "Config.FlightDir")))
	case err != nil:
		log().Warn("flight recorder", fmt.Sprintf("lens: %v; nothing is recorded there: name a directory%s that can be written to and has room",
			err, cfg.from("FLIGHT_DIR")))
	}
	return file
}

// restarts is how often the launcher has restarted this process.
func restarts(env func(string) string) int {
	for _, name := range []string{"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(env(name)), 10, 32); err == nil && n > 0 {
			return int(n)
		}
	}
	return 0
}

// recordToFile sets up a process that exports nothing and has a flight recorder: its
// spans, at the groups of the spec, go to the file alone.
func (h *TelemetryHandle) recordToFile(o *options, cfg Config, runID string) bool {
	file := openFlight(o, cfg, runID)
	if file == nil {
		return false
	}
	h.fileOnly = true
	h.pipeline = pipeline.New(pipeline.Plan{
		Traces: &pipeline.TraceSettings{
			Sampler: sdktrace.AlwaysSample(), Limits: sdktrace.NewSpanLimits(), Scoped: scopedAttributes, Watcher: file, Log: log(),
		},
		Groups: func() int { return EnabledSpanGroups().Len() }, Log: log(),
	})
	h.tracer = h.pipeline.Traces.Own(scopeLens)
	h.watching.file = file
	publish(h.pipeline)
	h.watchStalls(o, cfg)
	return true
}

// watchStalls starts to look for spans that stay open, if anybody wants that.
func (h *TelemetryHandle) watchStalls(o *options, cfg Config) {
	traces := h.pipeline.Traces
	if traces == nil {
		return
	}
	groups := make(map[string]time.Duration, len(cfg.StallAfterGroups))
	for g, d := range cfg.StallAfterGroups {
		groups[string(g)] = d
	}
	s := stall.Settings{
		After: cfg.StallAfter, Groups: groups, Stacks: cfg.StallStacks,
		Open: func() []stall.Span {
			now := traces.OpenNow()
			open := make([]stall.Span, len(now))
			for i, span := range now {
				open[i] = span
			}
			return open
		},
		Beat: func(s stall.Span, from, to time.Time) { heartbeat(traces, s, from, to) },
	}
	if traces.HasQueue() {
		s.Heartbeat = cfg.HeartbeatEvery
	}
	if !s.Wanted() {
		return
	}
	var stalled metric.Int64Counter
	if h.pipeline.Metrics != nil {
		counter, err := h.pipeline.Metrics.Provider.Meter(scopeLens).Int64Counter("nemo.lens.spans.stalled",
			metric.WithUnit("{span}"), metric.WithDescription("Spans that were open for longer than STALL_AFTER"))
		if err == nil {
			stalled = counter
		}
	}
	rank := o.rank
	s.Report = func(r stall.Report) {
		if stalled != nil {
			stalled.Add(context.Background(), 1+int64(r.More), metric.WithAttributes(attribute.String("nemo.span.group", r.Span.Group())))
		}
		reportStall(r, rank)
	}
	h.watching.stall = stall.Start(s)
}

// reportStall logs a span that stays open, with what tells where it hangs.
func reportStall(r stall.Report, rank int) {
	args := []any{"rank", rank, "in", strings.Join(r.Ancestry, " > "), "group", r.Span.Group(),
		"trace_id", r.Span.TraceID().String(), "span_id", r.Span.SpanID().String()}
	// The program may have set attributes past lens's filter.
	for _, kv := range privateCopy(r.Span.Attributes()) {
		args = append(args, string(kv.Key), shown(kv.Value))
	}
	if r.More > 0 {
		args = append(args, "more", r.More)
	}
	if r.Stacks != "" {
		args = append(args, "stacks", r.Stacks)
	}
	name := r.Span.Name()
	log().Warn("stalled "+name, fmt.Sprintf("lens: the span %q has been open for %s", name, r.Age.Round(time.Millisecond)), args...)
}

// The attributes of a heartbeat, a span that shows another that goes on.
const (
	heartbeatName = "nemo.span.heartbeat"
	heartbeatOf   = attribute.Key("nemo.span.heartbeat.of")
	heartbeatAge  = attribute.Key("nemo.span.heartbeat.seconds")
)

// heartbeat exports a span of its own, a child of the one that goes on, so that nothing
// is counted twice and the ids of the long span stay its own.
func heartbeat(traces *pipeline.Traces, s stall.Span, from, to time.Time) {
	span, ok := s.(*record.Span)
	if !ok || !span.SpanContext().IsSampled() || span.Name() == heartbeatName {
		return
	}
	ctx := trace.ContextWithSpanContext(context.Background(), span.SpanContext())
	_, beat := traces.Own(scopeLens).StartGroup(ctx, span.Group(), heartbeatName, trace.WithTimestamp(from), trace.WithAttributes(
		heartbeatOf.String(span.Name()), heartbeatAge.Float64(to.Sub(span.StartTime()).Seconds())))
	beat.End(trace.WithTimestamp(to))
}

// stopLooking ends the search before the spans are ended, which would be found.
func (w *watching) stopLooking(ctx context.Context) { w.stall.Stop(ctx) }

// close marks the file as that of a process that ended in order.
func (w *watching) close() { w.file.Close() }
