package detect

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/identity"
	"github.com/nemo-lens/lens/internal/identity/resattr"
	"github.com/nemo-lens/lens/internal/settings/envtext"
	"github.com/nemo-lens/lens/semconv"
)

// fromEnv says which variable an attribute is taken from; of several the first
// that is not empty.
type fromEnv struct {
	key  attribute.Key
	vars []string
}

var slurmBase = []fromEnv{
	{semconv.SlurmJobIDKey, []string{"SLURM_JOB_ID"}},
	{semconv.SlurmJobNameKey, []string{"SLURM_JOB_NAME"}},
	{semconv.SlurmNodeListKey, []string{"SLURM_NODELIST"}},
	{semconv.SlurmNNodesKey, []string{"SLURM_NNODES"}},
	{semconv.SlurmNTasksKey, []string{"SLURM_NTASKS"}},
	{semconv.SlurmPartitionKey, []string{"SLURM_PARTITION"}},
	{semconv.SlurmClusterNameKey, []string{"SLURM_CLUSTER_NAME"}},
}

// slurmText are the plain texts of the newer table. Some of the values come
// earlier, from rules of their own.
var slurmText = []fromEnv{
	{semconv.SlurmSLUIDKey, []string{"LENS_SLURM_SLUID", "NV_LAUNCH_SLUID"}},
	{semconv.SlurmArraySLUIDKey, []string{"LENS_SLURM_ARRAY_SLUID", "NV_LAUNCH_ARRAY_SLUID"}},
	{semconv.SlurmJobNameKey, []string{"SLURM_JOB_NAME"}},
	{semconv.SlurmClusterNameKey, []string{"SLURM_CLUSTER_NAME"}},
	{semconv.SlurmPartitionKey, []string{"SLURM_JOB_PARTITION", "SLURM_PARTITION"}},
	{semconv.SlurmJobUserKey, []string{"SLURM_JOB_USER"}},
	{semconv.SlurmJobAccountKey, []string{"SLURM_JOB_ACCOUNT"}},
	{semconv.SlurmJobQOSKey, []string{"SLURM_JOB_QOS"}},
	{semconv.SlurmJobReservationKey, []string{"SLURM_JOB_RESERVATION"}},
	{semconv.SlurmSegmentKey, []string{"SLURM_SEGMENT"}},
	{semconv.SlurmTopologyAddrKey, []string{"SLURM_TOPOLOGY_ADDR"}},
	{semconv.SlurmTopologyAddrPatternKey, []string{"SLURM_TOPOLOGY_ADDR_PATTERN"}},
}

// slurmInts are the counters of the newer table, with the text that an unset or
// empty variable stands for.
var slurmInts = []struct {
	fromEnv
	unset string
}{
	{fromEnv{semconv.SlurmArrayCountKey, []string{"SLURM_ARRAY_TASK_COUNT"}}, "1"},
	{fromEnv{semconv.SlurmNNodesKey, []string{"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}}, ""},
	{fromEnv{semconv.SlurmNTasksKey, []string{"SLURM_NTASKS"}}, ""},
	{fromEnv{semconv.SlurmRestartCountKey, []string{"SLURM_RESTART_COUNT"}}, "0"},
}

// slurmKeys are the keys that the newer detection takes from
// OTEL_RESOURCE_ATTRIBUTES: its own table and the run's UUID.
var slurmKeys = func() map[attribute.Key]bool {
	keys := map[attribute.Key]bool{
		semconv.SlurmJobIDKey: true, semconv.SlurmJobIDRawKey: true,
		semconv.SlurmArrayJobIDKey: true, semconv.SlurmArrayTaskIDKey: true,
		semconv.SlurmHeadNodeNameKey: true,
		semconv.NVDLJobUUIDKey:       true, semconv.NVDLRunUUIDKey: true,
	}
	for _, f := range slurmText {
		keys[f.key] = true
	}
	for _, f := range slurmInts {
		keys[f.key] = true
	}
	return keys
}()

func firstOf(lookup func(string) (string, bool), names ...string) string {
	for _, name := range names {
		if text, _ := lookup(name); text != "" {
			return text
		}
	}
	return ""
}

// Slurm returns the SLURM attributes of NeMo Lens v0.2.0: text as it is in the
// environment, empty values left out, nothing without SLURM_JOB_ID.
func Slurm(lookup func(string) (string, bool)) []attribute.KeyValue {
	if firstOf(lookup, "SLURM_JOB_ID") == "" {
		return nil
	}
	return texts(lookup, slurmBase)
}

func texts(lookup func(string) (string, bool), table []fromEnv) (attrs []attribute.KeyValue) {
	for _, f := range table {
		if text := firstOf(lookup, f.vars...); text != "" {
			attrs = append(attrs, f.key.String(strings.ToValidUTF8(text, "\ufffd")))
		}
	}
	return attrs
}

// DeriveSlurm returns the SLURM attributes of newer NeMo Lens from the
// environment alone: nothing without SLURM_JOB_ID. Counters that are no numbers
// are left out and named in a warning.
func DeriveSlurm(lookup func(string) (string, bool)) (attrs []attribute.KeyValue, warnings []envtext.Warning) {
	raw := firstOf(lookup, "SLURM_JOB_ID")
	if raw == "" {
		return nil, nil
	}
	job, array := raw, firstOf(lookup, "SLURM_ARRAY_JOB_ID")
	task := firstOf(lookup, "SLURM_ARRAY_TASK_ID")
	if task != "" && array != "" {
		job = array + "_" + task
	}
	if array == "" {
		array = raw
	}
	if task == "" {
		task = "0"
	}
	attrs = []attribute.KeyValue{
		semconv.SlurmJobIDKey.String(job), semconv.SlurmJobIDRawKey.String(raw),
		semconv.SlurmArrayJobIDKey.String(array), semconv.SlurmArrayTaskIDKey.String(task),
	}
	attrs = append(attrs, texts(lookup, slurmText)...)
	for _, f := range slurmInts {
		text := firstOf(lookup, f.vars...)
		if text == "" {
			text = f.unset
		}
		if n, ok := resattr.ParseInt(text); ok {
			attrs = append(attrs, f.key.Int64(n))
		} else if text != "" {
			warnings = append(warnings, badCounter(f.key, text))
		}
	}
	// Inside a step SLURMD_NODENAME is the task's node.
	if node := firstOf(lookup, "SLURMD_NODENAME"); node != "" && firstOf(lookup, "SLURM_STEP_ID", "SLURM_STEPID") == "" {
		attrs = append(attrs, semconv.SlurmHeadNodeNameKey.String(node))
	}
	return append(attrs, semconv.NVDLJobUUIDKey.String(identity.JobUUID(lookup))), warnings
}

func badCounter(key attribute.Key, text string) envtext.Warning {
	return envtext.Warning(string(key) + " is left out: " + envtext.Quote(text) + " is not a whole number")
}

// slurmNewer takes the known keys from OTEL_RESOURCE_ATTRIBUTES and fills what is
// missing from the environment: inherited values win, and work without a job.
func (d *detector) slurmNewer() []attribute.KeyValue {
	// Whoever builds the resource reports what is wrong with the text.
	text, _ := envtext.First(d.Lookup, resattr.EnvVar)
	parsed, _ := resattr.Parse(text)
	var inherited []attribute.KeyValue
	for _, kv := range parsed {
		text := kv.Value.AsString()
		switch {
		case !slurmKeys[kv.Key] || text == "":
		case resattr.IsSlurmCounter(kv.Key):
			if n, ok := resattr.ParseInt(text); ok {
				inherited = append(inherited, kv.Key.Int64(n))
			} else {
				d.warnings = append(d.warnings, badCounter(kv.Key, text))
			}
		default:
			inherited = append(inherited, kv)
		}
	}
	derived, warnings := DeriveSlurm(d.Lookup)
	d.warnings = append(d.warnings, warnings...)
	return resattr.Compose(inherited, derived, nil)
}
