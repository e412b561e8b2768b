package memprofile_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/nemo-lens/lens/gym/memprofile"
	"go.opentelemetry.io/otel/metric/noop"
)

func ExampleConditions_Check() {
	err := memprofile.Conditions{Enabled: false, Metrics: true, Exporting: true}.Check()
	fmt.Println(err)
	fmt.Println(errors.Is(err, memprofile.ErrDisabled))
	// Output:
	// lens: no memory profile: it is not enabled; set memory_profiling.enabled
	// true
}

func ExampleNew() {
	profiler, err := memprofile.New(noop.Meter{}, memprofile.Config{
		Targets: []memprofile.Target{{Name: "judge", Type: "resources_servers", PID: os.Getpid()}},
	})
	if errors.Is(err, memprofile.ErrUnsupported) {
		return // this is not Linux
	}
	if err != nil {
		panic(err)
	}
	profiler.Start()
	defer profiler.Stop()
	// ... the run
}
