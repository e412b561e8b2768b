//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

func TestB1OverflowIsCountedAndSaid(t *testing.T) {
	free := make(chan struct{})
	stopped := &exporter{export: func(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	tm := setUp(t, config(func(c *lens.Config) { c.QueueSize, c.BatchSize = 2048, 512 }), lens.WithSpanExporter(stopped))
	const made = 10000
	took := bounded(t, "ending spans", func() { makeSpans(made) })
	require.Less(t, took, limit)
	s := tm.Stats()
	requireBalance(t, s, made)
	require.LessOrEqual(t, s.Queued, uint64(2048+512))
	require.GreaterOrEqual(t, s.Dropped, uint64(made-2048-512))
	require.Eventually(t, func() bool { return strings.Contains(tm.log.String(), "spans are being lost") }, limit, time.Millisecond)
	close(free)
	require.ErrorContains(t, tm.Shutdown(context.Background()), fmt.Sprintf("%d of %d spans lost", s.Dropped, made))
	end := tm.Stats()
	requireBalance(t, end, made)
	require.Equal(t, s.Dropped, end.Dropped)
	require.Zero(t, end.Queued)
	require.LessOrEqual(t, strings.Count(tm.log.String(), "level=WARN"), 2, "not one line a span: %s", tm.log)
}

// flood ends spans from several goroutines until it is told to stop, and returns how
// many there were.
func flood(goroutines int, stop <-chan struct{}) (wait func() uint64) {
	var wg sync.WaitGroup
	made := make([]uint64, goroutines)
	for i := range goroutines {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
				if !span.IsRecording() { // telemetry has ended
					return
				}
				lens.End(span, nil)
				made[i]++
			}
		})
	}
	return func() (sum uint64) {
		wg.Wait()
		for _, n := range made {
			sum += n
		}
		return sum
	}
}

func TestB1FloodsAreAccountedForExactly(t *testing.T) {
	const goroutines = 8
	small := func(c *lens.Config) { c.QueueSize, c.BatchSize, c.QueueWait = 256, 64, time.Microsecond }
	block := func(c *lens.Config) { small(c); c.BlockOnFullQueue = true }
	for _, c := range []struct {
		what, protocol string
		mode           func(*lens.Config)
		fault          otlptest.Fault
		lossy          bool
	}{
		{"ordinary", grpcProtocol, func(*lens.Config) {}, otlptest.Fault{}, false}, // all fit into the default queue
		{"ordinary", httpProtocol, func(*lens.Config) {}, otlptest.Fault{}, false},
		{"small queue", grpcProtocol, small, otlptest.Fault{}, true},
		{"small queue", httpProtocol, small, otlptest.Fault{}, true},
		{"blocking", grpcProtocol, block, otlptest.Fault{}, false},
		{"blocking", httpProtocol, block, otlptest.Fault{}, false},
		{"blocking and rejecting", grpcProtocol, block, otlptest.Reject(codes.InvalidArgument, 400), true},
		{"rejecting", httpProtocol, small, otlptest.Reject(codes.InvalidArgument, 400), true},
		{"partial", grpcProtocol, block, otlptest.PartialSuccess(3, ""), true},
		{"partial", httpProtocol, small, otlptest.PartialSuccess(3, ""), true},
		{"resets", grpcProtocol, small, otlptest.ResetConnection().Times(1), true},
		{"resets", httpProtocol, small, otlptest.ResetConnection().Times(1), true},
		{"throttling", grpcProtocol, small, otlptest.Throttle(300 * time.Millisecond).Times(1), true},
	} {
		t.Run(c.what+" "+c.protocol, func(t *testing.T) {
			s := otlptest.Start(t, otlptest.WithCountOnly())
			s.SetFault(c.fault)
			tm := setUp(t, config(to(c.protocol, urlOf(s, c.protocol)), c.mode, within(10*time.Second)))
			const each, made = 400, goroutines * 400
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() { makeSpans(each) })
			}
			wg.Wait()
			requireBalance(t, tm.Stats(), made)
			err := tm.Shutdown(context.Background())
			st := tm.Stats()
			requireBalance(t, st, made)
			require.Zero(t, st.Queued)
			if lost := st.Dropped + st.Failed; lost > 0 {
				require.True(t, c.lossy, "%+v: %v", st, err)
				require.ErrorContains(t, err, fmt.Sprintf("%d of %d spans lost", lost, made))
			} else {
				require.NoError(t, err)
			}
			if c.what != "resets" { // what a broken connection has delivered, only the receiver knows
				require.EqualValues(t, st.Exported, s.Count(otlptest.Traces), "%+v", st)
			}
		})
	}
}

func TestB1FloodWhileTheCollectorRestarts(t *testing.T) {
	s := otlptest.Start(t, otlptest.WithCountOnly())
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(10*time.Second), func(c *lens.Config) {
		c.QueueSize, c.BatchSize, c.BlockOnFullQueue = 512, 64, false
	}))
	stop := make(chan struct{})
	watched := balanceAlways(t, tm, stop)
	wait := flood(4, stop)
	for range 2 {
		n := s.Count(otlptest.Traces)
		s.WaitFor(t, limit, "delivering", func(s *otlptest.Server) bool { return s.Count(otlptest.Traces) > n+500 })
		s.Stop()
		lost := tm.Stats().Dropped
		require.Eventually(t, func() bool { return tm.Stats().Dropped > lost }, limit, time.Millisecond)
		s.Restart(t)
	}
	n := s.Count(otlptest.Traces)
	s.WaitFor(t, limit, "delivering again", func(s *otlptest.Server) bool { return s.Count(otlptest.Traces) > n })
	close(stop)
	made := wait()
	watched()
	err := tm.Shutdown(context.Background())
	st := tm.Stats()
	requireBalance(t, st, made)
	require.Zero(t, st.Queued)
	require.ErrorContains(t, err, fmt.Sprintf("%d of %d spans lost", st.Dropped+st.Failed, made))
}

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
		dead  bool // nothing is exported, and the time for shutdown runs out
	}{
		"blocking, dead": {
			mode: func(c *lens.Config) {
				c.QueueSize, c.BatchSize, c.BlockOnFullQueue, c.ShutdownTimeout = 256, 64, true, 100*time.Millisecond
			},
			fault: otlptest.Silent(), dead: true,
		},
		"small, dead": {
			mode:  func(c *lens.Config) { c.QueueSize, c.BatchSize, c.ShutdownTimeout = 256, 64, 100*time.Millisecond },
			fault: otlptest.Silent(), dead: true,
		},
		"ordinary":  {mode: func(*lens.Config) {}},
		"small":     {mode: func(c *lens.Config) { c.QueueSize, c.BatchSize = 256, 64 }},
		"blocking":  {mode: func(c *lens.Config) { c.QueueSize, c.BatchSize, c.BlockOnFullQueue = 256, 64, true }},
		"rejecting": {mode: func(*lens.Config) {}, fault: otlptest.Reject(codes.InvalidArgument, 400)},
	} {
		t.Run(what, func(t *testing.T) {
			s := otlptest.Start(t, otlptest.WithCountOnly())
			s.SetFault(c.fault)
			tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(10*time.Second), c.mode))
			stop := make(chan struct{})
			watched := balanceAlways(t, tm, stop)
			made := flood(4, stop)
			enough := func() bool {
				st := tm.Stats()
				return st.Ended > 2000 && st.Exported+st.Failed > 500 || c.dead && st.Ended > 256
			}
			require.Eventually(t, enough, limit, time.Millisecond)
			var callers sync.WaitGroup
			for range 5 { // while the flood goes on
				callers.Go(func() { _ = tm.Shutdown(context.Background()) })
			}
			callers.Wait()
			made()
			close(stop)
			watched()
			end := tm.Stats()
			require.Equal(t, end.Ended, end.Exported+end.Dropped+end.Failed+end.Queued, "%+v", end)
			require.Zero(t, end.Queued)
		})
	}
}
