package instruments_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/nemo-lens/lens/instruments"
)

var evalSpecs = []instruments.MetricSpec{
	{Key: "accuracy", Name: "eval.accuracy", Unit: "1", Description: "Share of right answers."},
	{Key: "latency", Name: "eval.latency", Kind: instruments.Histogram, Unit: "s", Description: "Time to answer.", Bounds: []float64{0.1, 1, 10}},
	{Key: "samples", Name: "eval.samples", Kind: instruments.Counter, Unit: "{sample}", Description: "Samples answered."},
	{Key: "queued", Name: "eval.queued", Kind: instruments.UpDownCounter, Description: "Samples waiting."},
}

func newRegistry(t *testing.T) (*instruments.Registry, *logged) {
	t.Helper()
	r, log := new(instruments.Registry), new(logged)
	assert.Nil(t, r.SetLogger(log.logger()))
	require.NoError(t, r.Register("eval", evalSpecs...))
	return r, log
}

func TestRegistryRecordsEveryKind(t *testing.T) {
	t.Parallel()
	ctx, named := context.Background(), instruments.Named
	attrs := []attribute.KeyValue{attribute.String("task", "gsm8k"), attribute.Int("fold", 1)}
	for name, record := range map[string]func(r *instruments.Registry, s *sdk, values ...instruments.Value){
		"plain": func(r *instruments.Registry, s *sdk, values ...instruments.Value) {
			r.Record(ctx, s.meter, "eval", attrs, values...)
		},
		"recorder": func(r *instruments.Registry, s *sdk, values ...instruments.Value) {
			r.Recorder(s.meter, "eval", attrs...).Record(ctx, values...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log := newRegistry(t)
			s := newSDK(t)
			record(r, s, named("accuracy", 0.5), named("latency", 0.25), named("samples", 2), named("queued", 5))
			record(r, s, named("accuracy", 0.75), named("latency", 2), named("samples", 3), named("queued", -4))
			got := s.collect()
			requireWire(t, []wire{
				{"", "gauge", "eval.accuracy", "1", "Share of right answers."},
				{"", "histogram", "eval.latency", "s", "Time to answer."},
				{"", "counter", "eval.samples", "{sample}", "Samples answered."},
				{"", "up_down_counter", "eval.queued", "", "Samples waiting."},
			}, got)
			const set = "fold=1,task=gsm8k"
			assert.Equal(t, []point{{set, 0.75, 0, nil}}, points(got["eval.accuracy"]))
			assert.Equal(t, []point{{set, 2.25, 2, []float64{0.1, 1, 10}}}, points(got["eval.latency"]))
			assert.Equal(t, []point{{set, 5, 0, nil}}, points(got["eval.samples"]))
			assert.Equal(t, []point{{set, 1, 0, nil}}, points(got["eval.queued"]))
			assert.Empty(t, log.lines())
		})
	}
	assert.Equal(t, "task", string(attrs[0].Key), "the caller's attributes keep their order")
}

func TestRegistrationFaults(t *testing.T) {
	t.Parallel()
	type specs = []instruments.MetricSpec
	ok := instruments.MetricSpec{Key: "k", Name: "n"}
	for _, c := range []struct {
		name, group string
		specs       specs
		want        []string
	}{
		{"no group", " ", specs{ok}, []string{`metric group " ": want a name`}},
		{"no specs", "g", nil, []string{`metric group "g" has no metrics`}},
		{"no key", "g", specs{{Name: "n"}}, []string{`metric 0 (name "n") has key "": want a key`}},
		{"no name", "g", specs{ok, {Key: "x", Name: " "}}, []string{`metric 1 (key "x") has name " ": want a name`}},
		{"key twice", "g", specs{ok, ok}, []string{`key "k" is given twice`}},
		{"kind", "g", specs{{Key: "k", Name: "n", Kind: "summary"}}, []string{`metric "k" has kind "summary": want gauge, histogram, counter or up_down_counter`}},
		{"bounds of a gauge", "g", specs{{Key: "k", Name: "n", Bounds: []float64{1}}}, []string{`has bounds and kind "gauge"`}},
		{"bounds fall", "g", specs{{Key: "k", Name: "n", Kind: instruments.Histogram, Bounds: []float64{2, 1}}}, []string{"bounds [2 1]: want ascending"}},
		{"bounds NaN", "g", specs{{Key: "k", Name: "n", Kind: instruments.Histogram, Bounds: []float64{math.NaN()}}}, []string{"bounds [NaN]: want ascending"}},
		{"all at once", "g", specs{{}, {Key: "k", Kind: "x"}}, []string{`has key ""`, `(key "") has name ""`, `(key "k") has name ""`, `kind "x"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r instruments.Registry
			for _, err := range []error{r.Register(c.group, c.specs...), r.Replace(c.group, c.specs...)} {
				for _, want := range c.want {
					assert.ErrorContains(t, err, want)
				}
			}
			assert.Empty(t, r.Groups())
		})
	}
}

func TestRegisterReplaceUnregister(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	r, log := newRegistry(t)
	err := r.Register("eval", evalSpecs...)
	assert.ErrorIs(t, err, instruments.ErrGroupRegistered)
	assert.EqualError(t, err, `lens: metric group "eval": the metric group is registered already; use Replace, or another name`)

	require.NoError(t, r.Register("a", instruments.MetricSpec{Key: "k", Name: "a.k"}))
	groups := r.Groups()
	assert.Equal(t, []string{"a", "eval"}, groups)
	groups[0] = "changed"
	assert.Equal(t, []string{"a", "eval"}, r.Groups(), "a snapshot")

	// A recorder follows what happens to its group.
	rec := r.Recorder(s.meter, "eval")
	rec.Record(ctx, instruments.Named("accuracy", 1), instruments.Named("new", 1))
	require.NoError(t, r.Replace("eval", instruments.MetricSpec{Key: "new", Name: "eval.new"}))
	rec.Record(ctx, instruments.Named("new", 2), instruments.Named("accuracy", 2))
	got := s.collect()
	assert.Equal(t, []point{{value: 1}}, points(got["eval.accuracy"]))
	assert.Equal(t, []point{{value: 2}}, points(got["eval.new"]))
	require.NoError(t, r.Unregister("eval"))
	rec.Record(ctx, instruments.Named("new", 3))
	assert.Equal(t, []point{{value: 2}}, points(s.collect()["eval.new"]))

	err = r.Unregister("eval")
	assert.ErrorIs(t, err, instruments.ErrUnknownGroup)
	assert.EqualError(t, err, `lens: metric group "eval": no such metric group; registered are ["a"]`)
	assert.Len(t, log.lines(), 3, "key new, key accuracy, group eval")
}

func TestSpecsAreCopied(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	var r instruments.Registry
	specs := []instruments.MetricSpec{{Key: "k", Name: "n", Kind: instruments.Histogram, Bounds: []float64{1, 2}}}
	require.NoError(t, r.Register("g", specs...))
	specs[0].Name, specs[0].Bounds[0] = "changed", -1
	r.Record(context.Background(), s.meter, "g", nil, instruments.Named("k", 1))
	assert.Equal(t, []point{{value: 1, count: 1, bound: []float64{1, 2}}}, points(s.collect()["n"]))
}

func TestLaterValuesWinAndMissingOnesAreSkipped(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	r, log := newRegistry(t)
	r.Record(ctx, s.meter, "eval", nil)
	r.Record(ctx, s.meter, "unknown", nil) // nothing given: not even a look
	r.Record(ctx, s.meter, "eval", nil,
		instruments.Named("samples", 100), instruments.Named("queued", 7), instruments.Value{Key: "accuracy"},
		instruments.Named("samples", 1), instruments.Value{Key: "queued"})
	got := s.collect()
	assert.Equal(t, []point{{value: 1}}, points(got["eval.samples"]))
	assert.Len(t, got, 1)
	assert.Empty(t, log.lines())
}

func TestABadRecordIsLoggedOnceAndTheRestIsRecorded(t *testing.T) {
	t.Parallel()
	ctx, s, named := context.Background(), newSDK(t), instruments.Named
	r, log := newRegistry(t)
	require.NoError(t, r.Register("bad", instruments.MetricSpec{Key: "k", Name: "not a name"}, instruments.MetricSpec{Key: "ok", Name: "ok"}))
	for range 3 {
		r.Record(ctx, s.meter, "unknown", nil, named("k", 1))
		r.Record(ctx, s.meter, "eval", nil, named("typo", 1), named("samples", 1))
		r.Record(ctx, s.meter, "eval", nil, named("samples", -1), named("latency", math.NaN()), named("queued", math.Inf(1)))
		r.Record(ctx, s.meter, "eval", nil, named("samples", math.NaN()))
		r.Record(ctx, s.meter, "bad", nil, named("k", 1), named("ok", 1))
		r.Recorder(s.meter, "bad").Record(ctx, named("k", 1))
	}
	got := s.collect()
	assert.Equal(t, []point{{value: 3}}, points(got["eval.samples"]))
	assert.Equal(t, []point{{value: 1}}, points(got["ok"]))
	assert.Len(t, got, 2)
	lines := log.lines()
	require.Len(t, lines, 6, "%v", lines)
	for i, want := range []string{"group=unknown", "key=typo", "key=samples kind=counter value=-1", "key=latency kind=histogram value=NaN", "key=queued kind=up_down_counter value=+Inf", `group=bad instrument="not a name"`} {
		assert.Contains(t, lines[i], want)
	}

	// Registering again forgets what was logged.
	require.NoError(t, r.Replace("bad", instruments.MetricSpec{Key: "ok", Name: "ok"}))
	r.Record(ctx, s.meter, "bad", nil, named("k", 1))
	require.NoError(t, r.Register("unknown", instruments.MetricSpec{Key: "k", Name: "k"}))
	require.NoError(t, r.Unregister("unknown"))
	r.Record(ctx, s.meter, "unknown", nil, named("k", 1))
	assert.Len(t, log.lines(), 8)
}

func TestAMadeUpKeyDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	r, log := newRegistry(t)
	for i := range 2000 {
		r.Record(ctx, s.meter, "eval", nil, instruments.Named(fmt.Sprint("key ", i), 1))
	}
	assert.Len(t, log.lines(), 256)
}

func TestRegistryWithAFailingMeter(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	r, log := newRegistry(t)
	for range 3 {
		assert.NotPanics(t, func() {
			r.Record(ctx, &panickingMeter{s.meter}, "eval", nil, instruments.Named("accuracy", 1))
			r.Record(ctx, &brokenMeter{s.meter}, "eval", nil, instruments.Named("accuracy", 1), instruments.Named("samples", 1))
		})
	}
	assert.Equal(t, []point{{value: 3}}, points(s.collect()["eval.samples"]))
	assert.Len(t, log.lines(), 3, "one panic, one gauge, one histogram")
	r.Record(ctx, nil, "nobody", nil, instruments.Named("k", 1))
	r.Record(ctx, noop.Meter{}, "nobody", nil, instruments.Named("k", 1))
	assert.Len(t, log.lines(), 3, "without a meter nothing is looked up")
}

func TestPackageFunctionsUseTheDefaultRegistry(t *testing.T) {
	s := newSDK(t)
	require.NoError(t, instruments.Register("default test", instruments.MetricSpec{Key: "k", Name: "default.k"}))
	t.Cleanup(func() { assert.NoError(t, instruments.DefaultRegistry.Unregister("default test")) })
	assert.Contains(t, instruments.DefaultRegistry.Groups(), "default test")
	instruments.Record(context.Background(), s.meter, "default test", nil, instruments.Named("k", 4))
	assert.Equal(t, []point{{value: 4}}, points(s.collect()["default.k"]))
}

func TestRegistryUnderConcurrentUse(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	r, _ := newRegistry(t)
	rec := r.Recorder(s.meter, "eval")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				rec.Record(ctx, instruments.Named("samples", 1), instruments.Named("nothing", 1))
				r.Record(ctx, s.meter, "eval", nil, instruments.Named("samples", 1))
				switch {
				case i == 0 && j%10 == 0:
					assert.NoError(t, r.Replace("eval", evalSpecs...))
				case i == 1 && j%10 == 0:
					name := fmt.Sprint("other ", j)
					assert.NoError(t, r.Register(name, evalSpecs...))
					assert.NoError(t, r.Unregister(name))
				case i == 2:
					r.Groups()
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, []point{{value: 8 * 200 * 2}}, points(s.collect()["eval.samples"]))
}
