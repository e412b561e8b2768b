package resattr_test

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/resattr"
)

// What the processes that this one starts should say about themselves: the
// environment for exec.Cmd.Env.
func ExampleEnviron() {
	env := resattr.Environ([]string{"LANG=C", "OTEL_RESOURCE_ATTRIBUTES=team=post-training,dl.rank=0"},
		attribute.Int("dl.rank", 3), attribute.String("role", "data loader"))
	for _, kv := range env {
		fmt.Println(kv)
	}
	// Output:
	// LANG=C
	// OTEL_RESOURCE_ATTRIBUTES=team=post-training,dl.rank=3,role=data%20loader
}

// Numbers by convention come back as numbers; what cannot be read is described.
func ExampleParse() {
	attrs, warnings := resattr.Parse("dl.rank=3,role=data%20loader,broken")
	for _, kv := range attrs {
		fmt.Println(kv.Key, kv.Value.Type(), kv.Value.String())
	}
	fmt.Println(len(warnings), "warning")
	// Output:
	// dl.rank INT64 3
	// role STRING data loader
	// 1 warning
}

func ExampleFormat() {
	text, warnings := resattr.Format(attribute.String("stage", "a,b"), attribute.Int("dl.rank", 3))
	fmt.Println(text, len(warnings))
	// Output: stage=a%2Cb,dl.rank=3 0
}

func ExampleExtend() {
	text, _ := resattr.Extend("role=trainer",
		[]attribute.KeyValue{attribute.String("role", "unknown"), attribute.String("team", "alignment")}, // where nothing is said
		[]attribute.KeyValue{attribute.Int("dl.rank", 3)})                                                // whatever is said
	parts := strings.Split(text, ",")
	fmt.Println(len(parts), strings.Contains(text, "role=trainer"), strings.Contains(text, "team=alignment"))
	// Output: 3 true true
}

// For children that a library starts, out of the caller's reach.
func ExamplePublish() {
	const name = "OTEL_RESOURCE_ATTRIBUTES"
	defer setenv(name + "=team=alignment")()

	restore, warnings, err := resattr.Publish(attribute.Int("dl.rank", 3))
	fmt.Println(os.Getenv(name), len(warnings), err)
	restore()
	fmt.Println(os.Getenv(name))
	// Output:
	// dl.rank=3 0 <nil>
	// team=alignment
}

// Every process of a SLURM job computes the same id, without asking another.
func ExampleJobUUID() {
	defer setenv("SLURM_JOB_ID=4711", "SLURM_CLUSTER_NAME=selene")()

	id := resattr.JobUUID()
	fmt.Println(len(id), id == resattr.JobUUID())
	// Output: 36 true
}

// Outside SLURM the run id stands for the run.
func ExampleRunUUID() {
	id, ok := resattr.RunUUID("run-7")
	fmt.Println(len(id), ok)
	// Output: 36 true
}

// setenv changes the environment until the function that it returns is called.
func setenv(environ ...string) (restore func()) {
	before := os.Environ()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		os.Setenv(name, value)
	}
	return func() {
		os.Clearenv()
		for _, kv := range before {
			name, value, _ := strings.Cut(kv, "=")
			os.Setenv(name, value)
		}
	}
}
