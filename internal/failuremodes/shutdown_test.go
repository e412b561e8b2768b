//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

// slack is for a busy machine; without a limit of its own a shutdown takes ten seconds
// and more.
const slack = 8 * time.Second

func TestA1ShutdownIsBounded(t *testing.T) {
	places := map[string]func(testing.TB) string{
		"closed": otlptest.ClosedAddr, "silent": otlptest.SilentAddr, "blackhole": otlptest.Blackhole,
	}
	for place, addr := range places {
		for _, protocol := range protocols {
			for _, n := range []int{1, 2048} {
				if place == "blackhole" && n > 1 {
					continue // nothing that the others do not show
				}
				t.Run(fmt.Sprint(place, " ", protocol, " ", n), func(t *testing.T) {
					where := addr(t)
					before := goleak.IgnoreCurrent()
					const timeout = 100 * time.Millisecond
					tm := setUp(t, config(to(protocol, "http://"+where), within(timeout)))
					makeSpans(n)
					var err error
					took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
					require.Less(t, took, timeout+slack)
					require.ErrorContains(t, err, fmt.Sprintf("%d of %d spans lost", n, n))
					require.ErrorContains(t, err, where)
					s := tm.Stats()
					requireBalance(t, s, uint64(n))
					require.EqualValues(t, n, s.Dropped+s.Failed)
					requireNoLeak(t, before)
				})
			}
		}
	}
}

func TestA1SignalsShareOneDeadline(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			const timeout = 150 * time.Millisecond
			tm := setUp(t, config(to(protocol, "http://"+otlptest.SilentAddr(t)), within(timeout), allSignals))
			makeSpans(3)
			measure(t, tm)
			emit(tm, "hello")
			var err error
			took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
			require.Less(t, took, timeout+slack)
			require.ErrorContains(t, err, "3 of 3 spans lost")
			require.ErrorContains(t, err, "data points lost")
			require.ErrorContains(t, err, "1 of 1 log records lost")
		})
	}
	t.Run("a silent receiver of spans costs the others nothing", func(t *testing.T) {
		s := otlptest.Start(t)
		tm, err := fromEnv(t, variables(
			"OTEL_EXPORTER_OTLP_ENDPOINT", s.GRPCURL(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+otlptest.SilentAddr(t),
			"NEMO_LENS_METRICS_ENABLED", "1", "NEMO_LENS_LOGS_ENABLED", "1", "NEMO_LENS_SHUTDOWN_TIMEOUT", "700ms"))
		require.NoError(t, err)
		makeSpans(3)
		measure(t, tm)
		emit(tm, "hello")
		err = tm.Shutdown(context.Background())
		require.ErrorContains(t, err, "3 of 3 spans lost")
		require.NotContains(t, err.Error(), "data points lost")
		require.NotContains(t, err.Error(), "log records lost")
		require.NotZero(t, s.Count(otlptest.Metrics))
		require.Equal(t, 1, s.Count(otlptest.Logs))
	})
}

func allSignals(c *lens.Config) { c.MetricsEnabled, c.LogsEnabled = true, true }

func measure(t *testing.T, tm telemetry) {
	t.Helper()
	counter, err := tm.Meter().Int64Counter("tokens")
	require.NoError(t, err)
	counter.Add(context.Background(), 7)
}

func emit(tm telemetry, text string) {
	var r otellog.Record
	r.SetBody(attribute.StringValue(text))
	tm.LoggerProvider().Logger("test").Emit(context.Background(), r)
}

func TestA2DeadContextLosesNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	past, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancel()
	for what, ctx := range map[string]context.Context{"cancelled": cancelled, "deadline passed": past, "nil": nil} {
		for _, protocol := range protocols {
			for _, how := range []string{"Shutdown", "ForceFlush"} {
				t.Run(fmt.Sprint(what, " ", protocol, " ", how), func(t *testing.T) {
					s := otlptest.Start(t)
					tm := setUp(t, config(to(protocol, urlOf(s, protocol))))
					makeSpans(20)
					if how == "ForceFlush" {
						require.NoError(t, tm.ForceFlush(ctx))
					} else {
						require.NoError(t, tm.Shutdown(ctx))
					}
					require.Equal(t, 20, s.Count(otlptest.Traces))
				})
			}
		}
	}
}

func TestA3LossIsReported(t *testing.T) {
	for what, fault := range map[string]otlptest.Fault{
		"bad request":     otlptest.Reject(codes.InvalidArgument, 400),
		"unauthenticated": otlptest.Reject(codes.Unauthenticated, 401),
		"no such path":    otlptest.Reject(codes.Unimplemented, 404),
		"server error":    otlptest.Reject(codes.Internal, 500),
		"unavailable":     otlptest.Reject(codes.Unavailable, 503),
		"reset":           otlptest.ResetConnection(),
		"silent":          otlptest.Silent(),
	} {
		for _, protocol := range protocols {
			t.Run(fmt.Sprint(what, " ", protocol), func(t *testing.T) {
				s := otlptest.Start(t)
				s.SetFault(fault)
				tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(100*time.Millisecond)))
				makeSpans(5)
				flush := tm.ForceFlush(context.Background())
				makeSpans(2)
				shutdown := tm.Shutdown(context.Background())
				require.Error(t, flush)
				require.ErrorContains(t, shutdown, "7 of 7 spans lost")
				require.ErrorContains(t, shutdown, s.GRPCAddr()[:len("127.0.0.1:")])
				st := tm.Stats()
				requireBalance(t, st, 7)
				require.EqualValues(t, 7, st.Dropped+st.Failed)
				require.Zero(t, s.Count(otlptest.Traces))
			})
		}
	}
	t.Run("a flush says how many", func(t *testing.T) {
		s := otlptest.Start(t)
		s.SetFault(otlptest.Reject(codes.InvalidArgument, 400).Times(1))
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
		makeSpans(5)
		require.ErrorContains(t, tm.ForceFlush(context.Background()), "5 of 5 spans lost")
		makeSpans(2)
		require.NoError(t, tm.ForceFlush(context.Background()), "a loss is reported by one flush")
		require.ErrorContains(t, tm.Shutdown(context.Background()), "5 of 7 spans lost")
	})
	t.Run("partial success", func(t *testing.T) {
		for _, protocol := range protocols {
			s := otlptest.Start(t)
			s.SetFault(otlptest.PartialSuccess(2, "two have no service"))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol))))
			makeSpans(5)
			require.ErrorContains(t, tm.Shutdown(context.Background()), "2 of 5 spans lost", protocol)
			st := tm.Stats()
			requireBalance(t, st, 5)
			require.EqualValues(t, 2, st.Failed, protocol)
			require.Equal(t, 3, s.Count(otlptest.Traces), protocol)
		}
	})
}

func TestA4EveryCallerGetsTheSameResult(t *testing.T) {
	for _, protocol := range protocols {
		t.Run("concurrent "+protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			s.SetFault(otlptest.Slow(150 * time.Millisecond))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(10*time.Second)))
			makeSpans(10)
			delivered := make(chan int, 8)
			for i := range cap(delivered) {
				if i == cap(delivered)/2 {
					s.WaitRequests(t, 1, limit) // the others come while spans are on their way
				}
				go func() {
					if err := tm.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
					delivered <- s.Count(otlptest.Traces)
				}()
			}
			for range cap(delivered) {
				require.Equal(t, 10, <-delivered)
			}
		})
	}
	t.Run("an impatient caller and a patient one", func(t *testing.T) {
		s := otlptest.Start(t)
		s.SetFault(otlptest.Slow(250 * time.Millisecond))
		tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(10*time.Second)))
		makeSpans(10)
		short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		require.ErrorContains(t, tm.Shutdown(short), "10 of 10 spans lost")
		require.NoError(t, tm.Shutdown(context.Background()))
		require.Equal(t, 10, s.Count(otlptest.Traces))
		require.NoError(t, tm.Shutdown(short), "later callers get the result of the work")
		requireBalance(t, tm.Stats(), 10)
		require.EqualValues(t, 10, tm.Stats().Exported)
	})
	t.Run("a failure is everybody's", func(t *testing.T) {
		tm := setUp(t, config(to(grpcProtocol, "http://"+otlptest.ClosedAddr(t)), within(100*time.Millisecond)))
		makeSpans(4)
		for range 3 {
			require.ErrorContains(t, tm.Shutdown(context.Background()), "4 of 4 spans lost")
		}
	})
}

func TestA4APatientCallerKeepsEverySignal(t *testing.T) {
	s := otlptest.Start(t)
	s.SetFault(otlptest.Slow(250 * time.Millisecond))
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(10*time.Second), allSignals))
	makeSpans(10)
	measure(t, tm)
	emit(tm, "hello")
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, tm.Shutdown(short), "10 of 10 spans lost")
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, 10, s.Count(otlptest.Traces))
	require.Equal(t, 1, s.Count(otlptest.Logs))
	require.NotZero(t, s.Count(otlptest.Metrics))
	require.NoError(t, tm.Shutdown(short), "later callers get the result of the work")
	requireBalance(t, tm.Stats(), 10)
	require.EqualValues(t, 10, tm.Stats().Exported)
}

func TestA7OpenSpansAreNeverLostSilently(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL())))
	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "job")
	_, step := lens.ManagedSpan(ctx, lens.Step, "step")
	lens.End(step, nil)
	require.NoError(t, tm.Shutdown(context.Background()))
	spans := s.Spans()
	require.Len(t, spans, 2)
	otlptest.CheckWhole(t, spans)
	for _, span := range spans {
		require.Equal(t, span.Name == "job", span.Attributes["nemo.span.truncated"] == true, span.Name)
	}
	requireBalance(t, tm.Stats(), 2)

	lens.End(job, nil)
	_, late := lens.ManagedSpan(ctx, lens.Step, "late")
	require.False(t, late.IsRecording())
	_, late = tm.Tracer().Start(ctx, "late")
	require.False(t, late.IsRecording())
	require.Equal(t, 2, s.Count(otlptest.Traces))
	requireBalance(t, tm.Stats(), 2)
}

func TestA9TheHandleCoversEverySignal(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), allSignals))
			makeSpans(1)
			measure(t, tm)
			emit(tm, "hello")
			require.NoError(t, tm.Shutdown(context.Background()))
			require.Equal(t, 1, s.Count(otlptest.Traces))
			require.Equal(t, 1, s.Count(otlptest.Logs))
			names := map[string]bool{}
			for _, m := range s.Metrics() {
				names[m.Name] = true
			}
			require.True(t, names["tokens"], names)
		})
	}
	for what, h := range map[string]*lens.TelemetryHandle{
		"nil": nil, "disabled": setUp(t, config(func(c *lens.Config) { c.Enabled = false })).TelemetryHandle,
		"silent rank": setUp(t, config(), lens.WithRank(0, 2)).TelemetryHandle,
	} {
		t.Run(what, func(t *testing.T) {
			require.False(t, h.IsExporting())
			_, span := h.Tracer().Start(context.Background(), "x")
			span.End()
			require.Zero(t, h.Stats())
			require.Empty(t, h.OpenSpans())
			require.Empty(t, h.Endpoint())
			h.Meter()
			h.LoggerProvider().Logger("x")
			require.NoError(t, h.ForceFlush(context.Background()))
			require.NoError(t, h.Shutdown(context.Background()))
			require.NoError(t, h.Shutdown(context.Background()))
		})
	}
}

func TestA10CollectorGoesFirst(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			const timeout = 150 * time.Millisecond
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(timeout)))
			makeSpans(6)
			require.NoError(t, tm.ForceFlush(context.Background()))
			makeSpans(4)
			s.Stop()
			var err error
			took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
			require.Less(t, took, timeout+slack)
			require.ErrorContains(t, err, "4 of 10 spans lost")
			requireBalance(t, tm.Stats(), 10)
			require.EqualValues(t, 6, tm.Stats().Exported)
		})
	}
}
