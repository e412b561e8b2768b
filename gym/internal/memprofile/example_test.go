package memprofile_test

import (
	"errors"
	"os"

	"github.com/nemo-lens/lens/gym/internal/memprofile"
	"go.opentelemetry.io/otel/metric/noop"
)

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
