package gym

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/semconv"
)

// The variables that carry the start-up from the supervisor to a server, and
// from a server to its workers. Times are nanoseconds since 1970; a text that
// is not a whole number above 0 counts as not set.
const (
	StartupSpawnEnv       = "NEMO_GYM_STARTUP_SPAWN_NS"      // when the supervisor started the process
	StartupTraceparentEnv = "NEMO_GYM_STARTUP_TRACEPARENT"   // the supervisor's span for the server
	StartupSetupDoneEnv   = "NEMO_GYM_STARTUP_SETUP_DONE_NS" // when a launch script had prepared everything
	StartupServeEnv       = "NEMO_GYM_STARTUP_SERVE_NS"      // when a server handed over to its workers
)

// Stages of a start-up. Those that exist in the Python package only are here so
// that dashboards find one list; a Go server marks what it does, under these
// names or its own.
const (
	StageVenvSetup        = "venv_setup"        // from the spawn to the end of a launch script
	StageInterpreterStart = "interpreter_start" // until the timeline begins; in Go the start of the process
	StageWorkerStart      = "worker_start"      // from the hand-over until the worker's timeline begins
	StageLoadConfig       = "load_config"
	StageInitRay          = "init_ray" // Python only
	StageInitServer       = "init_server"
	StageInitTelemetry    = "init_telemetry"
	StageSetupWebserver   = "setup_webserver"
	StageExposeTools      = "expose_tools_over_mcp" // Python only
	StageConfigureApp     = "configure_app"
	StageUvicornStartup   = "uvicorn_startup" // Python only, see StageListen
	StageListen           = "listen"          // until the first connection can be accepted
)

// ServerTimeline is the start-up of a server process: stages that lie before
// the process began, from the variables, and stages that it marks. Make one
// with [NewServerTimeline] as the first thing in main, mark the stages, and let
// [ServerTimeline.ReportWhenServing] report. Its methods are safe for
// concurrent use; on nil, and when telemetry is off, they do nothing.
type ServerTimeline struct {
	line       *Timeline // nil when telemetry is off
	name, kind string
	worker     bool
	lookup     lookup
	setenv     func(name, value string) error
	report     sync.Once
}

// NewServerTimeline begins the timeline of this process. The name is that of
// the server in the run's configuration, the kind one of the ServerType
// constants or "". A worker is a process that a server has started to share its
// work: its stages begin where [ServerTimeline.AnnounceServing] was called.
func NewServerTimeline(name, kind string, worker bool) *ServerTimeline {
	return newServerTimeline(name, kind, worker, IsTelemetryEnvEnabled(), os.LookupEnv, wallClock)
}

func newServerTimeline(name, kind string, worker, enabled bool, env lookup, now func() time.Time) *ServerTimeline {
	t := &ServerTimeline{name: name, kind: kind, worker: worker, lookup: env, setenv: os.Setenv}
	if !enabled {
		return t
	}
	began := now()
	t.line = newTimeline(began, now)
	spawn, spawned := stamp(env, StartupSpawnEnv)
	done, prepared := stamp(env, StartupSetupDoneEnv)
	serve, served := stamp(env, StartupServeEnv)
	before := func(a, b time.Time) bool { return !a.After(b) }
	switch {
	case worker:
		if served && before(serve, began) {
			t.line.Add(StageWorkerStart, serve, began)
		}
	case spawned && prepared && before(spawn, done) && before(done, began):
		t.line.Add(StageVenvSetup, spawn, done)
		t.line.Add(StageInterpreterStart, done, began)
	case spawned && before(spawn, began):
		t.line.Add(StageInterpreterStart, spawn, began)
	}
	return t
}

// stamp reads a time.
func stamp(env lookup, name string) (time.Time, bool) {
	ns, err := strconv.ParseInt(firstOf(env, name), 10, 64)
	if err != nil || ns <= 0 {
		return time.Time{}, false
	}
	return time.Unix(0, ns), true
}

// Mark closes the stage that ran until now.
func (t *ServerTimeline) Mark(stage string) {
	if t.on() {
		t.line.Mark(stage)
	}
}

func (t *ServerTimeline) on() bool { return t != nil && t.line != nil }

// Stages returns the stages so far.
func (t *ServerTimeline) Stages() []Slice {
	if !t.on() {
		return nil
	}
	return t.line.Slices()
}

// AnnounceServing notes in this process's environment that the workers that are
// started from now on take over, and reports.
func (t *ServerTimeline) AnnounceServing() {
	if !t.on() {
		return
	}
	if err := t.setenv(StartupServeEnv, strconv.FormatInt(t.line.now().UnixNano(), 10)); err != nil {
		slog.Debug("gym: the hand-over to workers was not noted", "error", err)
	}
	t.Report()
}

// Report records the stages so far, once: each in
// gym.server.startup_stage_duration_ms when metrics are exported, and as a span
// with its own times below gym.server.startup (gym.server.startup.worker) while
// the group [Startup] is on. The parent is the supervisor's span for the
// server. Without any stage there is nothing. Nothing that goes wrong reaches
// the caller.
func (t *ServerTimeline) Report() {
	if !t.on() {
		return
	}
	t.report.Do(func() {
		defer swallow("the start-up was not reported")
		t.reportStages()
	})
}

func (t *ServerTimeline) reportStages() {
	stages := t.line.Slices()
	if len(stages) == 0 {
		return
	}
	worker := semconv.NeMoGymServerWorkerKey.Bool(t.worker)
	record(func(r *recorders) {
		for _, s := range stages {
			attrs := append(serverAttributes(t.name, t.kind), worker, semconv.NeMoGymStartupStageKey.String(s.Name))
			r.startupStage.Record(context.Background(), milliseconds(s.End.Sub(s.Start)), metric.WithAttributes(attrs...))
		}
	})
	if !lens.IsSpanGroupEnabled(Startup) {
		return
	}
	attrs := append(serverAttributes(t.name, t.kind), worker, semconv.ProcessPIDKey.Int(os.Getpid()))
	root := "gym.server.startup"
	if t.worker {
		root += ".worker"
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": firstOf(t.lookup, StartupTraceparentEnv)})
	emitTree(ctx, root, stages, attrs)
}

// emitTree records a root that spans the stages, and a child for each.
func emitTree(ctx context.Context, root string, stages []Slice, attrs []attribute.KeyValue) {
	sc, err := lens.EmitSpan(ctx, Startup, root, stages[0].Start, stages[len(stages)-1].End, attrs...)
	if err != nil {
		slog.Debug("gym: the start-up was not reported", "error", err)
		return
	}
	emitStages(trace.ContextWithSpanContext(ctx, sc), root, stages, attrs)
}

func emitStages(ctx context.Context, root string, stages []Slice, attrs []attribute.KeyValue) {
	for _, s := range stages {
		own := append(slices.Clip(attrs), semconv.NeMoGymStartupStageKey.String(s.Name))
		if _, err := lens.EmitSpan(ctx, Startup, root+"."+s.Name, s.Start, s.End, own...); err != nil {
			slog.Debug("gym: a stage of the start-up was not reported", "error", err)
		}
	}
}

// ReportWhenServing makes srv mark the last stage and report at the moment when
// it has a listener and is about to accept from it. A BaseContext that srv has
// still runs, and gives the context. When telemetry is off srv is left alone.
func (t *ServerTimeline) ReportWhenServing(srv *http.Server, lastStage string) {
	if !t.on() || srv == nil {
		return
	}
	inner := srv.BaseContext
	var once sync.Once
	srv.BaseContext = func(l net.Listener) context.Context {
		once.Do(func() {
			t.Mark(lastStage)
			t.Report()
		})
		if inner != nil {
			return inner(l)
		}
		return context.Background()
	}
}

// swallow keeps a panic of the telemetry from the application; defer it.
func swallow(what string) {
	if v := recover(); v != nil {
		slog.Debug("gym: "+what, "panic", fmt.Sprint(v))
	}
}
