//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/stats"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/instruments"
	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/lenslog"
)

const fieldB2Rounds = 3

// instrumented is what a library takes from the globals once and keeps.
type instrumented struct {
	counter   metric.Int64Counter
	histogram metric.Float64Histogram
	training  *instruments.Training
	logger    log.Logger
	slog      slog.Handler
	grpc      stats.Handler
}

func instrument(prefix string) (i instrumented) {
	meter := otel.Meter(prefix + ".library")
	must := func(err error) { check(err, 92) }
	var err error
	i.counter, err = meter.Int64Counter(prefix + ".counter")
	must(err)
	i.histogram, err = meter.Float64Histogram(prefix + ".histogram")
	must(err)
	i.training = instruments.NewTraining(otel.Meter(prefix + ".training"))
	_, err = meter.Int64ObservableCounter(prefix+".observable", metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(7)
		return nil
	}))
	must(err)
	level, err := meter.Float64ObservableGauge(prefix + ".level")
	must(err)
	sum, err := meter.Int64ObservableUpDownCounter(prefix + ".sum")
	must(err)
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveFloat64(level, 0.5)
		o.ObserveInt64(sum, 3)
		return nil
	}, level, sum)
	must(err)
	stopped, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(sum, 1000)
		return nil
	}, sum)
	must(err)
	must(stopped.Unregister())
	i.logger = otel.GetLoggerProvider().Logger(prefix + ".logger")
	i.slog = lenslog.NewExportHandler(nil, lenslog.WithScope(prefix+".slog"))
	i.grpc = otelgrpc.NewClientHandler()
	return i
}

func (i instrumented) use(text string) {
	ctx := context.Background()
	i.counter.Add(ctx, 1)
	i.histogram.Record(ctx, 1)
	i.training.Record(ctx, instruments.TrainingValues{Loss: instruments.Float(0.25)})
	var r log.Record
	r.SetBody(attribute.StringValue(text))
	r.SetTimestamp(time.Now())
	r.SetSeverity(log.SeverityInfo)
	i.logger.Emit(ctx, r)
	if i.slog.Enabled(ctx, slog.LevelInfo) {
		_ = i.slog.Handle(ctx, slog.NewRecord(time.Now(), slog.LevelInfo, text, 0))
	}
	rpc := i.grpc.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: "/service/method"})
	i.grpc.HandleRPC(rpc, &stats.Begin{Client: true, BeginTime: time.Now()})
	i.grpc.HandleRPC(rpc, &stats.End{Client: true, BeginTime: time.Now(), EndTime: time.Now()})
}

var keptInstruments = program("FB2", func() {
	kept := []instrumented{instrument("early")}
	check(runtime.Start(), 93)
	for round := range fieldB2Rounds {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		cfg.RunID = fmt.Sprint(round)
		h, err := lens.SetupTelemetry(context.Background(), cfg)
		check(err, 91)
		if round == 0 {
			kept = append(kept, instrument("late"))
			kept = append(kept, instrumented{
				training: instruments.NewTraining(h.MeterProvider().Meter("handle.training")),
				slog:     lenslog.NewExportHandler(h.LoggerProvider(), lenslog.WithScope("handle.slog")),
			})
			var err error
			kept[2].counter, err = h.Meter().Int64Counter("handle.counter")
			check(err, 92)
			kept[2].histogram, err = h.Meter().Float64Histogram("handle.histogram")
			check(err, 92)
			kept[2].logger, kept[2].grpc = h.LoggerProvider().Logger("handle.logger"), kept[1].grpc
		}
		instrument("again") // set-up code that runs each time
		for _, i := range kept {
			i.use("in")
		}
		check(h.Shutdown(context.Background()), 94)
		for _, i := range kept {
			i.use("between")
		}
	}
})

// What is taken from the globals once, before the first set-up or in it, records into
// whichever is active.
func TestFieldB2WhatIsKeptRecordsIntoTheActiveSetUp(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := runChild(t, keptInstruments, exportTo(grpcProtocol, s.GRPCURL(), "NEMO_LENS_METRICS_ENABLED=1", "NEMO_LENS_LOGS_ENABLED=1")...)
	require.Zero(t, p.status(t), &p.stderr)
	require.Equal(t, fieldB2Rounds, strings.Count(p.stderr.String(), "\n"), "more is logged than the set-ups: %s", &p.stderr)

	values, logs := map[string]map[string]any{}, map[string]map[string]int{}
	for _, m := range s.Metrics() {
		round := m.Resource["nemo.run.id"].(string)
		if values[round] == nil {
			values[round], logs[round] = map[string]any{}, map[string]int{}
		}
		for _, point := range m.Points {
			value := point.Value
			if m.Kind == otlptest.Histogram {
				value = int64(point.Count)
			}
			values[round][m.Scope.Name+" "+m.Name] = value
		}
	}
	for _, r := range s.Logs() {
		require.Equal(t, "in", r.Body)
		logs[r.Resource["nemo.run.id"].(string)][r.Scope.Name]++
	}
	for round := range fieldB2Rounds {
		got := values[fmt.Sprint(round)]
		for _, prefix := range []string{"early", "late", "again"} {
			scope := prefix + ".library " + prefix
			require.EqualValues(t, 7, got[scope+".observable"], "%s %d: %v", prefix, round, got)
			require.EqualValues(t, 0.5, got[scope+".level"], "%s %d", prefix, round)
			require.EqualValues(t, 3, got[scope+".sum"], "%s %d", prefix, round)
			if prefix != "again" {
				require.EqualValues(t, 1, got[scope+".counter"], "%s %d", prefix, round)
				require.EqualValues(t, 1, got[scope+".histogram"], "%s %d", prefix, round)
				require.Equal(t, 1, logs[fmt.Sprint(round)][prefix+".logger"], "%s %d", prefix, round)
				require.Equal(t, 1, logs[fmt.Sprint(round)][prefix+".slog"], "%s %d", prefix, round)
			}
		}
		require.EqualValues(t, 1, got["nemo.lens handle.counter"], round)
		require.EqualValues(t, 0.25, got["early.training megatron.training.loss"], round)
		require.EqualValues(t, 0.25, got["handle.training megatron.training.loss"], round)
		require.Equal(t, 1, logs[fmt.Sprint(round)]["handle.slog"], round)
		require.NotZero(t, got["go.opentelemetry.io/contrib/instrumentation/runtime go.goroutine.count"], round)
		require.NotNil(t, got["go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc rpc.client.call.duration"], "%d: %v", round, got)
	}
}
