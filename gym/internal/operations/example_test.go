package operations_test

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens/gym/internal/operations"
	"go.opentelemetry.io/otel/metric/noop"
)

func ExampleMetrics_Do() {
	metrics, err := operations.NewMetrics(noop.Meter{}, nil)
	if err != nil {
		panic(err)
	}
	limit := operations.NewSemaphore(8, "resources.judge", nil, nil)
	exitCode := 137
	err = metrics.Do(context.Background(), limit, operations.Verify, operations.Subprocess, func(op *operations.Op) error {
		if exitCode > 128 {
			op.SetOutcome(operations.Crashed)
		}
		return nil
	})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleNewSemaphore() {
	// No limit configured: a semaphore that lets everyone in.
	unlimited := operations.NewSemaphore(0, "rollout_driver", nil, nil)
	fmt.Println(unlimited == nil, unlimited.Acquire(context.Background()))
	// Output: true <nil>
}
