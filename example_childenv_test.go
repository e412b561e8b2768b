//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"

	"github.com/nemo-lens/lens"
)

// A child process that joins the trace and the run of its parent: the whole
// environment for exec.Cmd.Env.
func ExampleTelemetryHandle_ChildEnv() {
	h := setUp()
	defer shutDown(h)

	ctx := lens.ExtractContext(context.Background(), map[string]string{"traceparent": fromPython})
	for _, kv := range h.ChildEnv(ctx, []string{"LANG=C"}) {
		fmt.Println(kv)
	}
	// Output:
	// LANG=C
	// TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
	// OTEL_RESOURCE_ATTRIBUTES=nemo.run.id=run-7
}
