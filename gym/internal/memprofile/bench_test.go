package memprofile

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
)

// BenchmarkSample measures what profiling 50 idle server processes costs.
//
// Method: 50 real child processes, copies of this test binary with some 10 MB resident each. Samples are taken as the
// profiler's goroutine takes them, with its default interval, one after another with a pause of 2 ms between them, so that
// caches do not stay as warm as in a closed loop. The time is that of the sampling code on the wall clock, which counts
// preemption against it. %core is the mean time of a sample over the interval of 1 s. psstree/sample is how many of the
// 50 trees were read in full.
func BenchmarkSample(b *testing.B) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		b.Skip(err)
	}
	var targets []Target
	for range 50 {
		var cmd *exec.Cmd
		cmd, _ = start(b, "idle")
		targets = append(targets, Target{"server", "resources", cmd.Process.Pid})
	}
	for name, budget := range map[string]float64{"default": DefaultBudget, "unlimited": Unlimited} {
		b.Run(name, func(b *testing.B) {
			p, err := New(noop.Meter{}, Config{Targets: targets, Budget: budget})
			require.NoError(b, err)
			full := 0
			read := p.tree
			p.tree = func(t *tree, w *walker) reading {
				if w != nil {
					full++
				}
				return read(t, w)
			}
			p.sample(true)
			full = 0
			var spent time.Duration
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for range b.N {
				<-pace.C
				began := time.Now()
				p.sample(false)
				spent += time.Since(began)
			}
			perSample := spent / time.Duration(b.N)
			b.ReportMetric(100*float64(perSample)/float64(DefaultInterval), "%core")
			b.ReportMetric(float64(full)/float64(b.N), "psstree/sample")
			b.ReportMetric(float64(perSample), "ns/sample")
			b.ReportMetric(0, "ns/op")
		})
	}
}
