//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// balanceAlways reads the numbers until stop is closed, and reports those that do not
// add up.
func balanceAlways(t *testing.T, tm telemetry, stop <-chan struct{}) (wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for reported := 0; reported < 3; {
			s := tm.Stats()
			if s.Ended != s.Exported+s.Dropped+s.Failed+s.Queued {
				t.Errorf("ended is not exported + dropped + failed + queued: %+v", s)
				reported++
			}
			if s.Started < s.Ended {
				t.Errorf("more spans ended than started: %+v", s)
				reported++
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	return func() { <-done }
}

func TestB1NumbersAddUpAtEveryMoment(t *testing.T) {
	for what, c := range map[string]struct {
		mode  func(*lens.Config)
		fault otlptest.Fault
	}{
		"ordinary":  {mode: func(*lens.Config) {}},
		"small":     {mode: func(c *lens.Config) { c.QueueSize, c.BatchSize = 256, 64 }},
		"blocking":  {mode: func(c *lens.Config) { c.QueueSize, c.BatchSize, c.BlockOnFullQueue = 256, 64, true }},
		"rejecting": {mode: func(*lens.Config) {}, fault: otlptest.Reject(codes.InvalidArgument, 400)},
	} {
		t.Run(what, func(t *testing.T) {
			s := otlptest.Start(t, otlptest.WithCountOnly())
			s.SetFault(c.fault)
			tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), c.mode, within(10*time.Second)))
			stop := make(chan struct{})
			watched := balanceAlways(t, tm, stop)
			made := flood(4, stop)
			enough := func() bool { st := tm.Stats(); return st.Ended > 5000 && st.Exported+st.Failed > 1000 }
			require.Eventually(t, enough, limit, time.Millisecond)
			for range 4 { // while the flood goes on
				go func() { _ = tm.Shutdown(context.Background()) }()
			}
			_ = tm.Shutdown(context.Background())
			made()
			close(stop)
			watched()
			end := tm.Stats()
			require.Equal(t, end.Ended, end.Exported+end.Dropped+end.Failed+end.Queued, "%+v", end)
			require.Zero(t, end.Queued)
		})
	}
}
