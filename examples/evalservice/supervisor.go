package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/gym"
)

// startTimeout is how long the servers have until all of them are healthy.
const startTimeout = 2 * time.Minute

// fileEnv names the file that the console exporter of a process writes to.
const fileEnv = "NEMO_GYM_OTEL_EXPORTER_FILE"

// supervisor is the first process, which drives the run.
type supervisor struct {
	options
	config         runConfig
	tasks          []task
	stdout, stderr io.Writer
	fleet          *fleet
	files          *files // nil when the spans go elsewhere, or nowhere
	handle         *lens.TelemetryHandle
	groups         lens.GroupSet // that were on
	runID          string
}

func runSupervisor(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	line := gym.NewSupervisorTimeline()
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	s := &supervisor{options: o, stdout: stdout, stderr: stderr}
	if s.config, err = loadConfig(runJSON); err != nil {
		return err
	}
	if s.tasks, err = loadTasks(tasksJSONL); err != nil {
		return err
	}
	line.Mark(gym.StageLoadConfig)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.fleet = &fleet{stderr: children.NewLines(stderr), died: cancel}
	if err := s.startTelemetry(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.files.remove()) }()
	line.Mark(gym.StageInitTelemetry)
	line.BeginTrace()

	results, took, runErr := s.evaluate(ctx, line)
	// The supervisor's telemetry ends before it stops the servers, also when the
	// start-up has failed: what is open then is cut off and marked.
	gym.ShutdownTelemetry(graceful)
	if err := errors.Join(runErr, s.fleet.stop()); err != nil {
		return err
	}
	return s.report(results, took)
}

// startTelemetry is what happens before any server is started.
func (s *supervisor) startTelemetry() error {
	if s.options.groups != "" {
		if err := os.Setenv("NEMO_GYM_OTEL_SPAN_GROUPS", s.options.groups); err != nil {
			return err
		}
	}
	s.runID = gym.ConfigureTelemetryEnv(&s.config.telemetry) // the servers inherit it
	cfg, err := gym.TelemetryConfigFromEnv(s.config.telemetry)
	if err == nil && s.runID != "" && cfg.Exporter == "console" {
		if s.files, err = newFiles(s.keep); err != nil {
			return err
		}
		if err := os.Setenv(fileEnv, s.files.of(gym.ServerTypeSupervisor)); err != nil {
			return errors.Join(err, s.files.remove())
		}
	}
	s.handle = gym.InitTelemetry(gym.WithServerName(gym.ServerTypeSupervisor), gym.WithServerType(gym.ServerTypeSupervisor),
		gym.WithLensOptions(lens.WithLogger(quiet(s.stderr))))
	s.groups = lens.EnabledSpanGroups()
	if !s.handle.IsExporting() { // a build without telemetry, or a variable that cannot be read
		err, s.files = s.files.remove(), nil
		return err
	}
	return nil
}

// evaluate starts the servers and runs the rollouts.
func (s *supervisor) evaluate(ctx context.Context, line *gym.SupervisorTimeline) (results []result, took time.Duration, err error) {
	if observer, err := gym.StartObserver(); err == nil { // there is none without metrics
		defer observer.Stop()
	}
	agent, err := s.startServers(ctx, line)
	if err != nil {
		return nil, 0, err
	}
	line.Finish()
	gym.RecordActiveServers(len(s.fleet.servers))
	defer gym.RecordActiveServers(0)
	defer s.profileMemory().Stop()

	client, err := newClient(s.concurrency)
	if err != nil {
		return nil, 0, err
	}
	defer client.CloseIdleConnections()
	began := time.Now()
	results, err = drive(ctx, s.options, s.tasks, peer{name: agent.name, url: agent.url, http: client})
	took = time.Since(began)
	// What the gauges show now is of more interest than what they show after the end.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	if err := s.handle.ForceFlush(flush); err != nil {
		fmt.Fprintln(s.stderr, "evalservice:", err)
	}
	return results, took, err
}

// startServers starts the model and the resources server, then the agent, which
// is told where they are.
func (s *supervisor) startServers(ctx context.Context, line *gym.SupervisorTimeline) (agent *process, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the servers were not healthy after %v", startTimeout))
	defer cancel()
	var peers []string
	for _, kind := range []string{gym.ServerTypeModel, gym.ServerTypeResources, gym.ServerTypeAgent} {
		name, err := s.config.ofType(kind)
		if err != nil {
			return nil, err
		}
		env := append(os.Environ(), line.ServerEnv(name, kind)...)
		if s.files != nil {
			env = append(env, fileEnv+"="+s.files.of(name))
		}
		if kind == gym.ServerTypeAgent {
			for _, p := range s.fleet.servers {
				if err := await(ctx, p, p.listens); err != nil {
					return nil, err
				}
				peers = append(peers, "-peer="+p.name+"="+p.url)
			}
		}
		if agent, err = s.fleet.start(name, kind, env, peers); err != nil {
			return nil, err
		}
	}
	line.Mark(gym.StageSpawnServers)
	probe := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	defer probe.CloseIdleConnections()
	for _, p := range s.fleet.servers {
		if err := p.healthy(ctx, probe); err != nil {
			return nil, err
		}
		line.ServerReady(p.name)
		fmt.Fprintf(s.stdout, "%-16s pid %-7d %s\n", p.name, p.cmd.Process.Pid, p.url)
	}
	line.Mark(gym.StageWaitForServers)
	return agent, nil
}

// profileMemory samples the host and the servers until it is stopped.
func (s *supervisor) profileMemory() *gym.Running {
	var targets []gym.MemoryTarget
	for _, p := range s.fleet.servers {
		targets = append(targets, gym.MemoryTarget{Name: p.name, Type: p.kind, PID: p.cmd.Process.Pid})
	}
	profiler, err := gym.StartMemoryProfiler(targets...)
	if err != nil && s.handle.IsExporting() { // otherwise nobody expects a profile
		fmt.Fprintln(s.stdout, err)
	}
	return profiler
}

// files are where the processes write their spans and metrics.
type files struct {
	dir  string
	keep bool
}

func newFiles(keep string) (*files, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "lens-evalservice-")
		return &files{dir: dir}, err
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return nil, fmt.Errorf("-keep: %w", err)
	}
	// The exporter appends, so that an earlier run would be read as this one.
	if old, err := filepath.Glob(filepath.Join(keep, "*.jsonl")); err != nil || len(old) > 0 {
		return nil, usageError{fmt.Errorf("-keep=%s: want a folder without .jsonl files of an earlier run", keep)}
	}
	return &files{dir: keep, keep: true}, nil
}

func (f *files) of(name string) string { return filepath.Join(f.dir, name+".jsonl") }

func (f *files) remove() error {
	if f == nil || f.keep {
		return nil
	}
	return os.RemoveAll(f.dir)
}
