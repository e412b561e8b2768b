package gym

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/semconv"
)

// Stages of the supervisor, beside [StageLoadConfig], [StageInitTelemetry] and
// [StageInitRay].
const (
	StageStartH2PingSidecar    = "start_h2_ping_sidecar" // Python only
	StageStartHeadServer       = "start_head_server"
	StageSpawnServers          = "spawn_servers"
	StageWaitForHeadServer     = "wait_for_head_server"
	StageWaitForServers        = "wait_for_servers"
	StageWaitForModelEndpoints = "wait_for_model_endpoints"
)

// SupervisorTimeline is the start-up of a whole run: a trace of its own, with
// the stages of the supervisor and a span for each server, below which the
// server reports its own stages. Make one with [NewSupervisorTimeline] as the
// first thing in main. Its methods are safe for concurrent use; on nil, and
// when telemetry is off, they do nothing.
//
// When a start-up fails, do not call [SupervisorTimeline.Finish]: the spans that
// are open are ended, and marked as cut off, by the shutdown of telemetry.
type SupervisorTimeline struct {
	line   *Timeline
	lookup lookup

	mu      sync.Mutex
	root    trace.Span // nil when spans are off
	rootCtx context.Context
	servers map[string]*startingServer
}

type startingServer struct {
	kind    string
	spawned time.Time
	span    trace.Span // nil when spans are off
}

// NewSupervisorTimeline begins the timeline.
func NewSupervisorTimeline() *SupervisorTimeline {
	return newSupervisorTimeline(os.LookupEnv, wallClock)
}

func newSupervisorTimeline(env lookup, now func() time.Time) *SupervisorTimeline {
	return &SupervisorTimeline{line: newTimeline(time.Time{}, now), lookup: env, servers: make(map[string]*startingServer)}
}

// Mark closes the stage that ran until now.
func (t *SupervisorTimeline) Mark(stage string) {
	if t != nil {
		t.line.Mark(stage)
	}
}

// BeginTrace opens the span gym.startup, which began with the timeline, while
// the group [Startup] is on. Call it after [InitTelemetry], before the first
// server is started. A second call does nothing.
func (t *SupervisorTimeline) BeginTrace() {
	if t == nil {
		return
	}
	defer swallow("the trace of the start-up was not begun")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.root != nil || !lens.IsSpanGroupEnabled(Startup) {
		return
	}
	ctx, span := lens.ManagedSpanWith(context.Background(), Startup, "gym.startup",
		trace.WithNewRoot(), trace.WithTimestamp(t.line.Start()))
	if span.IsRecording() {
		t.root, t.rootCtx = span, ctx
	}
}

// ServerEnv says that a server is started now and returns what to append to
// its environment: the time, and the traceparent of its span gym.startup.server
// when there is one. It returns nil when telemetry is off. A server that is
// started again begins anew.
func (t *SupervisorTimeline) ServerEnv(name, kind string) []string {
	if t == nil || !envEnabled(t.lookup) && GetTelemetry() == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	server := &startingServer{kind: kind, spawned: t.line.now()}
	if old := t.servers[name]; old != nil && old.span != nil {
		old.span.End()
	}
	t.servers[name] = server
	env := []string{StartupSpawnEnv + "=" + strconv.FormatInt(server.spawned.UnixNano(), 10)}
	if header := t.startServerSpan(name, server); header != "" {
		env = append(env, StartupTraceparentEnv+"="+header)
	}
	return env
}

// startServerSpan returns the span's traceparent, in the W3C format whatever
// propagator the process has.
func (t *SupervisorTimeline) startServerSpan(name string, server *startingServer) (traceparent string) {
	defer swallow("the start of a server has no span")
	if t.root == nil {
		return ""
	}
	ctx, span := lens.ManagedSpanWith(t.rootCtx, Startup, "gym.startup.server",
		trace.WithTimestamp(server.spawned), trace.WithAttributes(serverAttributes(name, server.kind)...))
	if !span.IsRecording() {
		return ""
	}
	server.span = span
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// ServerReady says that the first probe of the server found it healthy. The
// time since its start is in gym.server.startup_duration_ms, whether the group
// is on or not, and its span ends. A server that is not known, or ready
// already, is ignored.
func (t *SupervisorTimeline) ServerReady(name string) {
	if t == nil {
		return
	}
	defer swallow("the start of a server was not recorded")
	t.mu.Lock()
	server := t.servers[name]
	delete(t.servers, name)
	t.mu.Unlock()
	if server == nil {
		return
	}
	ready := t.line.now()
	ctx := context.Background()
	if server.span != nil {
		ctx = trace.ContextWithSpan(ctx, server.span)
		defer server.span.End(trace.WithTimestamp(ready))
	}
	record(func(r *recorders) {
		r.serverStartup.Record(ctx, milliseconds(max(0, ready.Sub(server.spawned))),
			metric.WithAttributes(serverAttributes(name, server.kind)...))
	})
}

// Finish records a span gym.startup.<stage> for each stage and ends gym.startup
// with the last one. Servers that are not ready keep their spans.
func (t *SupervisorTimeline) Finish() {
	if t == nil {
		return
	}
	defer swallow("the start-up was not reported")
	t.mu.Lock()
	root, ctx := t.root, t.rootCtx
	t.root, t.rootCtx = nil, nil
	t.mu.Unlock()
	if root == nil {
		return
	}
	for _, s := range t.line.Slices() {
		_, span := lens.ManagedSpanWith(ctx, Startup, "gym.startup."+s.Name,
			trace.WithTimestamp(s.Start), trace.WithAttributes(semconv.NeMoGymStartupStageKey.String(s.Name)))
		span.End(trace.WithTimestamp(s.End))
	}
	root.End(trace.WithTimestamp(t.line.End()))
}
