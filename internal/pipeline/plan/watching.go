package plan

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
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/pipeline"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/record/redact"
	"github.com/nemo-lens/lens/internal/record/stall"
	"github.com/nemo-lens/lens/internal/report"
)

// openFlight starts the file that FlightDir asks for. It never fails a set-up: what is
// wrong is a warning.
func (p *Plan) openFlight() *flight.Recorder {
	if p.FlightDir == "" || !p.Traces {
		return nil
	}
	host, _ := os.Hostname()
	file, err := flight.Open(flight.Options{
		Dir: p.FlightDir, RunID: p.RunID, Host: host, Service: p.Service,
		Rank: p.Rank, WorldSize: p.WorldSize, Restart: restarts(p.Env),
		Redact:  func(key string) bool { return redact.Key(key, p.Strict) },
		OnFault: func(err error) { p.Log.Warn("flight recorder", "lens: "+err.Error()) },
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		p.Log.Warn("flight recorder", fmt.Sprintf("lens: %v; %s is ignored", err, p.FlightName))
	case err != nil:
		p.Log.Warn("flight recorder", fmt.Sprintf("lens: %v; nothing is recorded there: name a directory%s that can be written to and has room",
			err, p.FlightSource))
	}
	return file
}

// restarts is how often the launcher has restarted this process.
func restarts(env func(string) (string, bool)) int {
	for _, name := range []string{"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"} {
		text, _ := env(name)
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil && n > 0 {
			return int(n)
		}
	}
	return 0
}

// watchStalls starts to look for spans that stay open, if anybody wants that.
func (p *Plan) watchStalls(to *pipeline.Pipeline) *stall.Watch {
	traces := to.Traces
	if traces == nil {
		return nil
	}
	s := stall.Settings{
		After: p.StallAfter, Groups: p.StallAfterGroups, Stacks: p.StallStacks,
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
		s.Heartbeat = p.Heartbeat
	}
	if !s.Wanted() {
		return nil
	}
	var stalled metric.Int64Counter
	if to.Metrics != nil {
		counter, err := to.Metrics.Provider.Meter(pipeline.Scope).Int64Counter("nemo.lens.spans.stalled",
			metric.WithUnit("{span}"), metric.WithDescription("Spans that were open for longer than STALL_AFTER"))
		if err == nil {
			stalled = counter
		}
	}
	s.Report = func(r stall.Report) {
		if stalled != nil {
			stalled.Add(context.Background(), 1+int64(r.More), metric.WithAttributes(attribute.String("nemo.span.group", r.Span.Group())))
		}
		p.reportStall(r)
	}
	return stall.Start(s)
}

// reportStall logs a span that stays open, with what tells where it hangs.
func (p *Plan) reportStall(r stall.Report) {
	args := []any{"rank", p.Rank, "in", strings.Join(r.Ancestry, " > "), "group", r.Span.Group(),
		"trace_id", r.Span.TraceID().String(), "span_id", r.Span.SpanID().String()}
	// The application may have set attributes past lens's filter.
	for _, kv := range redact.Copy(r.Span.Attributes(), p.Strict) {
		args = append(args, string(kv.Key), report.Value(kv.Value))
	}
	if r.More > 0 {
		args = append(args, "more", r.More)
	}
	if r.Stacks != "" {
		args = append(args, "stacks", r.Stacks)
	}
	name := r.Span.Name()
	p.Log.Warn("stalled "+name, fmt.Sprintf("lens: the span %q has been open for %s", name, r.Age.Round(time.Millisecond)), args...)
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
	_, beat := traces.Own(pipeline.Scope).StartGroup(ctx, span.Group(), heartbeatName, trace.WithTimestamp(from), trace.WithAttributes(
		heartbeatOf.String(span.Name()), heartbeatAge.Float64(to.Sub(span.StartTime()).Seconds())))
	beat.End(trace.WithTimestamp(to))
}
