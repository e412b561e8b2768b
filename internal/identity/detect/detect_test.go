package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity/processstart"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type envMap map[string]string

func (e envMap) lookup(name string) (string, bool) { v, ok := e[name]; return v, ok }

// attrMap decodes the expected attributes of a vector: text or integers.
type attrMap map[attribute.Key]attribute.Value

func (m *attrMap) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var raw map[attribute.Key]any
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	*m = attrMap{}
	for key, v := range raw {
		switch v := v.(type) {
		case string:
			(*m)[key] = attribute.StringValue(v)
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return err
			}
			(*m)[key] = attribute.Int64Value(n)
		default:
			return errors.New("neither text nor a number")
		}
	}
	return nil
}

func (m attrMap) check(t *testing.T, what string, got []attribute.KeyValue) {
	t.Helper()
	if len(got) != len(m) {
		t.Errorf("%s: %d attributes, want %d: %v", what, len(got), len(m), got)
	}
	for _, kv := range got {
		if want, ok := m[kv.Key]; !ok || want != kv.Value {
			t.Errorf("%s: %s=%v (%v), want %v (%v)", what, kv.Key, kv.Value.String(), kv.Value.Type(), want.String(), want.Type())
		}
	}
}

type vectors struct {
	Slurm struct {
		Cases []struct {
			Env    envMap
			Expect attrMap
		}
	} `json:"detect_slurm_v020"`
	Kubernetes struct {
		Cases []struct {
			Env    envMap
			Dir    bool `json:"service_account_dir_exists"`
			Expect attrMap
		}
	} `json:"detect_kubernetes_v020"`
	GPUCount struct {
		Cases []struct {
			Text   string `json:"CUDA_VISIBLE_DEVICES"`
			Expect int64
			Lens   *int64 `json:"lens_expect"` // where lens differs
		}
	} `json:"gpu_count_from_cuda_visible_devices_v020"`
	SlurmNewer struct {
		Cases []struct {
			Env            envMap
			Derive, Detect attrMap
		}
	} `json:"detect_slurm_nightly"`
	GPUIndex struct {
		Cases []struct {
			LocalRank any `json:"local_rank"`
			Env       envMap
			Expect    *int
		}
	} `json:"gpu_physical_index_nightly"`
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{
		"SLURM": len(v.Slurm.Cases), "Kubernetes": len(v.Kubernetes.Cases), "GPU count": len(v.GPUCount.Cases),
		"newer SLURM": len(v.SlurmNewer.Cases), "GPU index": len(v.GPUIndex.Cases),
	} {
		if n == 0 {
			t.Fatalf("no %s vectors", name)
		}
	}
	return v
}

// noFork fails the test if anything is to be run.
func noFork(t testing.TB) Runner {
	return func(_ context.Context, name string, args ...string) ([]byte, error) {
		t.Errorf("%s %v was run", name, args)
		return nil, errors.New("not allowed")
	}
}

// value returns the last value of key.
func value(attrs []attribute.KeyValue, key attribute.Key) (v attribute.Value, ok bool) {
	for _, kv := range attrs {
		if kv.Key == key {
			v, ok = kv.Value, true
		}
	}
	return v, ok
}

func withPrefix(attrs []attribute.KeyValue, prefixes ...string) (out []attribute.KeyValue) {
	for _, kv := range attrs {
		for _, p := range prefixes {
			if strings.HasPrefix(string(kv.Key), p) {
				out = append(out, kv)
			}
		}
	}
	return out
}

func TestSlurmMatchesReference(t *testing.T) {
	t.Parallel()
	v := load(t)
	for _, c := range v.Slurm.Cases {
		c.Expect.check(t, "base", Slurm(c.Env.lookup))
	}
	for _, c := range v.SlurmNewer.Cases {
		derived, _ := DeriveSlurm(c.Env.lookup)
		c.Derive.check(t, "derive", derived)
		all, _ := Detect(Options{Lookup: c.Env.lookup, Root: t.TempDir(), Slurm: SlurmNewer, Run: noFork(t)})
		c.Detect.check(t, "detect", withPrefix(all, "slurm.", "nv.dl.", "service."))
	}
}

func TestNewerSlurmBeyondTheVectors(t *testing.T) {
	t.Parallel()
	detect := func(env envMap) ([]attribute.KeyValue, []envtext.Warning) {
		return Detect(Options{Lookup: env.lookup, Root: t.TempDir(), Slurm: SlurmNewer, Run: noFork(t)})
	}
	// The head node is known in a batch script only, and kept when inherited.
	got, _ := detect(envMap{"SLURM_JOB_ID": "1", "SLURMD_NODENAME": "c1"})
	if v, _ := value(got, "slurm.head_node.name"); v.AsString() != "c1" {
		t.Errorf("head node %q in a batch script, want c1", v.AsString())
	}
	got, _ = detect(envMap{"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURMD_NODENAME": "c2", "OTEL_RESOURCE_ATTRIBUTES": "slurm.head_node.name=c1"})
	if v, _ := value(got, "slurm.head_node.name"); v.AsString() != "c1" {
		t.Errorf("head node %q in a step, want the inherited c1", v.AsString())
	}
	// Retired names are never taken over, bad counters are replaced and named.
	got, warnings := detect(envMap{
		"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_RESTART_COUNT": "x",
		"OTEL_RESOURCE_ATTRIBUTES": "slurm.nodelist=n,slurm.cluster=c,slurm.ntasks=many,slurm.job.name=,nv.dl.run.uuid=u",
	})
	if len(withPrefix(got, "slurm.nodelist", "slurm.cluster", "slurm.job.name")) > 0 {
		t.Errorf("retired or empty names were taken: %v", got)
	}
	if v, _ := value(got, "slurm.ntasks"); v.AsInt64() != 4 {
		t.Errorf("slurm.ntasks = %v, want the derived 4", v.String())
	}
	if v, _ := value(got, "nv.dl.run.uuid"); v.AsString() != "u" {
		t.Errorf("run UUID %q, want u", v.AsString())
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0].String(), "many") || !strings.Contains(warnings[1].String(), "slurm.restart_count") {
		t.Errorf("warnings %q, want one for each bad counter", warnings)
	}
	// The launcher's ids, the older variable for the newer one.
	got, _ = detect(envMap{"SLURM_JOB_ID": "1", "LENS_SLURM_SLUID": "", "NV_LAUNCH_SLUID": "s", "SLURM_JOB_PARTITION": "p", "SLURM_PARTITION": "q"})
	for key, want := range map[attribute.Key]string{"slurm.sluid": "s", "slurm.partition": "p"} {
		if v, _ := value(got, key); v.AsString() != want {
			t.Errorf("%s = %q, want %q", key, v.AsString(), want)
		}
	}
}

func TestKubernetesMatchesReference(t *testing.T) {
	t.Parallel()
	for _, c := range load(t).Kubernetes.Cases {
		root := t.TempDir()
		if c.Dir {
			write(t, root, "var/run/secrets/kubernetes.io/serviceaccount/token", "secret")
		}
		got, warnings := Detect(Options{Lookup: c.Env.lookup, Root: root, Run: noFork(t)})
		c.Expect.check(t, "k8s", withPrefix(got, "k8s."))
		if len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), Run: noFork(t)})
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	attrMap{"host.name": attribute.StringValue(host), "process.pid": attribute.IntValue(os.Getpid())}.check(t, "local", got)
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
}

// Everything at once: the order, and what must never be there.
func TestDetectEverything(t *testing.T) {
	t.Parallel()
	opts := everything(t)
	got, warnings := Detect(opts)
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	family := func(kv attribute.KeyValue) int {
		switch {
		case strings.HasPrefix(string(kv.Key), "slurm."):
			return 1
		case strings.HasPrefix(string(kv.Key), "k8s."):
			return 2
		}
		return 0
	}
	if !slices.IsSortedFunc(got, func(a, b attribute.KeyValue) int { return family(a) - family(b) }) {
		t.Errorf("not in the order local, slurm, k8s: %v", got)
	}
	for _, kv := range got {
		if strings.Contains(string(kv.Key), "owner") || strings.Contains(string(kv.Key), "command") {
			t.Errorf("%s must not be detected", kv.Key)
		}
	}
	for _, key := range []attribute.Key{"host.name", "host.gpu.count", "nv.gpu.uuid", "slurm.job.id", "k8s.pod.name"} {
		if _, ok := value(got, key); !ok {
			t.Errorf("%s is missing: %v", key, got)
		}
	}
}

// An environment of junk is still described.
func TestDetectNeverFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "proc/driver/nvidia/gpus/not-an-address/information", "x")
	write(t, root, "proc/driver/nvidia/gpus/0000:01:00.0/information/is-a-directory", "x")
	junk := func(name string) (string, bool) { return "\xff" + name + "\x00,%=", true }
	for _, table := range []SlurmTable{SlurmBase, SlurmNewer, SlurmTable(99)} {
		got, _ := Detect(Options{Lookup: junk, Root: root, Slurm: table, GPUIdentity: true, LocalRank: "x", NvidiaSMI: true, Run: func(context.Context, string, ...string) ([]byte, error) {
			return nil, errors.New("broken")
		}})
		if _, ok := value(got, "process.pid"); !ok {
			t.Errorf("got %v", got)
		}
	}
}

func write(t testing.TB, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// everything is a host with eight GPUs, a SLURM step and a pod.
func everything(t testing.TB) Options {
	root := t.TempDir()
	driverTree(t, root, 8)
	write(t, root, "var/run/secrets/kubernetes.io/serviceaccount/token", "secret")
	env := envMap{
		"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_NNODES": "2", "SLURM_NTASKS": "16", "SLURM_PARTITION": "batch",
		"SLURM_CLUSTER_NAME": "c", "SLURM_NODELIST": "n[1-2]", "SLURM_JOB_NAME": "j", "LOCAL_RANK": "3",
		"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "pod-1", "K8S_NAMESPACE": "ml", "K8S_NODE_NAME": "node",
		"OTEL_RESOURCE_ATTRIBUTES": "team=x,nemo.run.id=r",
	}
	return Options{Lookup: env.lookup, Root: root, GPUIdentity: true, Run: noFork(t)}
}

func BenchmarkDetectEverything(b *testing.B) {
	opts := everything(b)
	b.ReportAllocs()
	for b.Loop() {
		Detect(opts)
	}
}

func TestProcessStartAttribute(t *testing.T) {
	t.Parallel()
	if _, err := processstart.Time(); err != nil {
		t.Skip(err)
	}
	got, warnings := Detect(Options{Lookup: envMap{}.lookup, Root: t.TempDir(), ProcessStart: true, Run: noFork(t)})
	v, ok := value(got, "process.creation.time")
	if _, err := time.Parse(time.RFC3339Nano, v.AsString()); !ok || err != nil || len(warnings) > 0 {
		t.Errorf("%q, %v, warnings %q", v.AsString(), err, warnings)
	}
}
