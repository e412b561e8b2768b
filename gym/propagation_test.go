//go:build !lens_noop

package gym

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// line is a span as the console exporter writes it.
type line struct {
	Name                string
	SpanContext, Parent struct{ TraceID, SpanID string }
	StartTime           time.Time
	Attributes          []keyValue
	Resource            []keyValue
}

type keyValue struct {
	Key   string
	Value struct{ Value any }
}

func get(attrs []keyValue, key string) any {
	for _, kv := range attrs {
		if kv.Key == key {
			return kv.Value.Value
		}
	}
	return nil
}

// run starts the supervisor, which starts the servers, and returns all spans.
func run(t *testing.T, tasks int, environ ...string) (spans []line, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spans.jsonl")
	cmd := exec.Command(os.Args[0])
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !strings.HasPrefix(name, "OTEL_") && !strings.HasPrefix(name, "NEMO_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, roleEnv+"=supervisor", tasksEnv+"="+strings.Repeat("x", tasks), "NEMO_GYM_OTEL_EXPORTER_FILE="+file)
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // a second for each process otherwise
	cmd.Env = append(cmd.Env, environ...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, string(out)
	}
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s line
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s), "%s", lines.Bytes())
		if s.SpanContext.SpanID != "" { // not a metric
			spans = append(spans, s)
		}
	}
	return spans, string(out)
}

// trees returns every trace as text, one span a line behind its process,
// siblings in the order of their starts.
func trees(spans []line) map[string]string {
	slices.SortStableFunc(spans, func(a, b line) int { return a.StartTime.Compare(b.StartTime) })
	out := make(map[string]string)
	var write func(parent line, depth int)
	write = func(parent line, depth int) {
		for _, s := range spans {
			if s.SpanContext.TraceID != parent.SpanContext.TraceID || s.Parent.SpanID != parent.SpanContext.SpanID {
				continue
			}
			out[s.SpanContext.TraceID] += fmt.Sprintf("%s%v: %s\n", strings.Repeat("  ", depth), get(s.Resource, "nemo.gym.server.name"), s.Name)
			write(s, depth+1)
		}
	}
	for _, s := range spans {
		if _, done := out[s.SpanContext.TraceID]; !done {
			out[s.SpanContext.TraceID] = ""
			root := s
			root.SpanContext.SpanID = "0000000000000000"
			write(root, 0)
		}
	}
	return out
}

// checkRollouts says whether each rollout is one trace with the right parents.
func checkRollouts(spans []line, tasks int, want string) error {
	var errs []error
	found := 0
	for _, tree := range trees(spans) {
		if strings.Contains(tree, "POST") {
			found++
			if tree != want {
				errs = append(errs, fmt.Errorf("a trace is\n%s", tree))
			}
		}
	}
	if found != tasks {
		errs = append(errs, fmt.Errorf("%d traces for %d rollouts", found, tasks))
	}
	// Every span of a rollout that knows its id has the same one.
	ids := make(map[string]map[any]bool)
	for _, s := range spans {
		if id := get(s.Attributes, "nemo.gym.rollout.id"); id != nil {
			if ids[s.SpanContext.TraceID] == nil {
				ids[s.SpanContext.TraceID] = make(map[any]bool)
			}
			ids[s.SpanContext.TraceID][id] = true
		}
	}
	distinct := make(map[any]bool)
	for _, of := range ids {
		if len(of) != 1 {
			errs = append(errs, fmt.Errorf("a trace has the ids %v", of))
		}
		for id := range of {
			distinct[id] = true
		}
	}
	if len(distinct) != tasks {
		errs = append(errs, fmt.Errorf("%d ids for %d rollouts", len(distinct), tasks))
	}
	return errors.Join(errs...)
}

const defaultTree = `supervisor: HTTP POST
  agent: POST /run
    agent: gym.rollout
      agent: HTTP POST
        agent: POST /v1/responses
          agent: HTTP POST
            model: POST /v1/responses
      agent: HTTP POST
        judge: POST /verify
`

const perRolloutTree = `supervisor: HTTP POST
  agent: POST /run
    agent: gym.rollout
      agent: HTTP POST
        agent: POST /v1/responses
          agent: gym.agent.responses
            agent: HTTP POST
              model: POST /v1/responses
                model: gym.model.responses
      agent: HTTP POST
        judge: POST /verify
          judge: gym.verify
`

// Real processes: a supervisor that starts a model, a judge and an agent. The
// preset "default" is enough for the whole chain.
func TestPropagationOneTraceARollout(t *testing.T) {
	t.Parallel()
	spans, stderr := run(t, 3, "NEMO_LENS_SPAN_GROUPS=default")
	require.NoError(t, checkRollouts(spans, 3, defaultTree))

	// The start-up is a trace of its own, and the job another one.
	var startup, job string
	for _, tree := range trees(spans) {
		if strings.Contains(tree, "gym.startup") {
			startup = tree
		} else if strings.Contains(tree, "gym.job") {
			job = tree
		}
	}
	assert.Equal(t, "supervisor: gym.job\n", job)
	server := func(name string) string {
		return "  supervisor: gym.startup.server\n    " + name + ": gym.server.startup\n" +
			"      " + name + ": gym.server.startup.interpreter_start\n" +
			"      " + name + ": gym.server.startup.init_telemetry\n" +
			"      " + name + ": gym.server.startup.listen\n"
	}
	for _, name := range []string{"model", "judge", "agent"} {
		assert.Contains(t, startup, server(name))
	}
	for _, stage := range []string{"load_config", "init_telemetry", "spawn_servers"} {
		assert.Contains(t, startup, "  supervisor: gym.startup."+stage+"\n")
	}

	// One run, with a resource for each process.
	runs, services := make(map[any]bool), make(map[any]bool)
	for _, s := range spans {
		runs[get(s.Resource, "nemo.run.id")] = true
		services[get(s.Resource, "service.name")] = true
		assert.Equal(t, "nemo-gym", get(s.Resource, "nemo.gym.service_group"))
		assert.EqualValues(t, 0, get(s.Resource, "nv.dl.rank"))
		assert.EqualValues(t, 1, get(s.Resource, "nv.dl.world_size"))
	}
	assert.Len(t, runs, 1)
	assert.Equal(t, map[any]bool{"nemo-gym/supervisor": true, "nemo-gym/agent": true, "nemo-gym/model": true, "nemo-gym/judge": true}, services)
	assert.NotContains(t, stderr, "is not one that lens reads")
}

// Every rollout is a trace with a root of its own, and nothing else is there.
func TestPropagationPerRollout(t *testing.T) {
	t.Parallel()
	spans, _ := run(t, 2, "NEMO_LENS_SPAN_GROUPS=per_rollout")
	require.NoError(t, checkRollouts(spans, 2, perRolloutTree))
	assert.Len(t, trees(spans), 2)
}

// The check above notices each link of the chain that is missing.
func TestPropagationTestNoticesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"inject", "extract", "propagator"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			spans, _ := run(t, 1, "NEMO_LENS_SPAN_GROUPS=default", breakEnv+"="+missing)
			require.Error(t, checkRollouts(spans, 1, defaultTree))
			assert.Greater(t, len(trees(spans)), 3, "traces split")
		})
	}
	spans, _ := run(t, 1, "NEMO_LENS_SPAN_GROUPS=server,rollout")
	require.Error(t, checkRollouts(spans, 1, defaultTree), "without http_client there is no header")
}

// With telemetry off the same processes do the same work and record nothing.
func TestPropagationOff(t *testing.T) {
	t.Parallel()
	spans, stderr := run(t, 1, "NEMO_GYM_OTEL_ENABLED=0", "NEMO_LENS_SPAN_GROUPS=all")
	assert.Empty(t, spans)
	assert.Empty(t, stderr)
}
