package logpipe

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

func TestConfigIsClamped(t *testing.T) {
	t.Parallel()
	def := Config{
		QueueSize: DefaultQueueSize, BatchSize: DefaultBatchSize, Delay: DefaultDelay,
		ExportTimeout: DefaultExportTimeout, MaxWait: DefaultMaxWait,
	}
	for name, c := range map[string]struct{ in, want Config }{
		"nothing":  {Config{}, def},
		"negative": {Config{QueueSize: -1, BatchSize: -1, Delay: -1, ExportTimeout: -1}, def},
		"huge": {
			Config{QueueSize: 1 << 30, BatchSize: 1 << 30, Delay: time.Hour, MaxWait: -1},
			Config{QueueSize: MaxQueueSize, BatchSize: MaxBatchSize, Delay: time.Hour, ExportTimeout: DefaultExportTimeout, MaxWait: -1},
		},
		"tiny": {
			Config{QueueSize: 3, BatchSize: 100, Delay: 1, ExportTimeout: 1, MaxWait: 1, Block: true},
			Config{QueueSize: 3, BatchSize: 3, Delay: MinDelay, ExportTimeout: MinExportTimeout, MaxWait: 1, Block: true},
		},
	} {
		if got := c.in.normal(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestBatchesAreFullAndOrdered(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Batch: Config{BatchSize: 10, Delay: time.Hour}})
	emit(t.Context(), p, 25)
	until(t, "two full batches", func() bool { return p.Stats().Exported == 20 })
	wantStats(t, p, Stats{Emitted: 25, Exported: 20, Queued: 5})
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	emit(t.Context(), p, 3)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := exp.calls(); !slices.Equal(got, []int{10, 10, 5, 3}) {
		t.Errorf("batches %v", got)
	}
	for i, r := range exp.records()[:25] {
		if want := "record " + strconv.Itoa(i); r.Body().AsString() != want {
			t.Fatalf("record %d is %q", i, r.Body().AsString())
		}
	}
	wantStats(t, p, Stats{Emitted: 28, Exported: 28})
	if exp.shutdowns() != 1 {
		t.Errorf("%d shutdowns of the exporter", exp.shutdowns())
	}
}

func TestDelayFlushes(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Batch: Config{Delay: time.Millisecond}})
	for i := range 3 {
		emit(t.Context(), p, 1)
		until(t, "exported", func() bool { return p.Stats().Exported == uint64(i+1) })
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The exporter's copy must not change when a later processor changes the record.
func TestRecordIsCopied(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Processors: []sdklog.Processor{vandal{}}})
	var r log.Record
	for i := range 10 { // more than a record holds in itself
		r.AddAttributes(attribute.Int(strconv.Itoa(i), i))
	}
	p.Provider.Logger("test").Emit(t.Context(), r)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	exp.records()[0].WalkAttributes(func(kv attribute.KeyValue) bool {
		if strconv.Itoa(int(kv.Value.AsInt64())) != string(kv.Key) {
			t.Errorf("%s is %v", kv.Key, kv.Value)
		}
		return true
	})
}

type vandal struct{}

func (vandal) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (vandal) OnEmit(_ context.Context, r *sdklog.Record) error {
	for i := range 10 {
		r.AddAttributes(attribute.Int(strconv.Itoa(i), 99))
	}
	return nil
}
func (vandal) Shutdown(context.Context) error   { return nil }
func (vandal) ForceFlush(context.Context) error { return nil }

// With an exporter that does not come back the queue fills, producers wait their
// millisecond once, and everything is counted.
func TestFullQueueDropsAndCounts(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
	var out lines
	p := New(Settings{Exporter: exp, Endpoint: "grpc://there", Log: out.log(), Batch: Config{QueueSize: 10, BatchSize: 5, Delay: time.Hour}})
	emit(t.Context(), p, 5)
	until(t, "with the exporter", func() bool { return len(exp.calls()) == 1 })
	emit(t.Context(), p, 10+7)
	wantStats(t, p, Stats{Emitted: 22, Dropped: 7, Queued: 15})
	until(t, "a warning", func() bool { return out.String() != "" })
	close(release)
	err := p.Shutdown(t.Context())
	wantStats(t, p, Stats{Emitted: 22, Exported: 15, Dropped: 7})
	var loss *LossError
	if !errors.As(err, &loss) || loss.Dropped != 7 || loss.Failed != 0 || loss.Of != 22 || loss.Cause != nil {
		t.Errorf("error %v", err)
	}
	const want = "lens: exporting log records to grpc://there: lens: 7 of 22 log records lost: 7 dropped because the queue was full"
	if err != nil && err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestBlockingLosesNothing(t *testing.T) {
	t.Parallel()
	exp := &exporter{do: func(context.Context, []sdklog.Record) error {
		for range rand.IntN(50) { // leaves the cores to the producers, so that the queue fills
			runtime.Gosched()
		}
		return nil
	}}
	p := New(Settings{Exporter: exp, Batch: Config{QueueSize: 16, BatchSize: 4, Block: true}})
	inParallel(8, 500, func() { emit(context.Background(), p, 1) })
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	wantStats(t, p, Stats{Emitted: 4000, Exported: 4000})
	if n := len(exp.records()); n != 4000 {
		t.Errorf("%d records at the exporter", n)
	}
}

// Producers that wait for room are let go by a shutdown, and counted.
func TestShutdownFreesBlockedProducers(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Batch: Config{QueueSize: 1, BatchSize: 1, Block: true}})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() { emit(context.Background(), p, 1) })
	}
	until(t, "four blocked", func() bool { return p.Stats() == Stats{Emitted: 6, Queued: 6} })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Shutdown(ctx); err == nil {
		t.Error("no error")
	}
	wg.Wait()
	close(release)
	until(t, "given up", func() bool { return p.end.Context().Err() != nil })
	s := p.Stats()
	if checkSum(t, s); s.Emitted != 6 || s.Exported+s.Dropped+s.Failed != 6 {
		t.Errorf("stats %+v", s)
	}
}

// At every moment, in every mode, with an exporter that does everything exporters do,
// the numbers add up.
func TestBooksAreExact(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"dropping":  {QueueSize: 64, BatchSize: 16, Delay: time.Millisecond},
		"impatient": {QueueSize: 64, BatchSize: 16, Delay: time.Millisecond, MaxWait: -1},
		"blocking":  {QueueSize: 64, BatchSize: 16, Delay: time.Millisecond, Block: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exp := &exporter{do: func(_ context.Context, r []sdklog.Record) error {
				switch rand.IntN(6) {
				case 0:
					return errors.New("refused")
				case 1:
					return partial(rand.IntN(2 * len(r)))
				case 2:
					panic("odd")
				case 3:
					return sized{}
				}
				return nil
			}}
			p := New(Settings{Exporter: exp, Batch: cfg})
			stop, watched := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(watched)
				for {
					select {
					case <-stop:
						return
					default:
						checkSum(t, p.Stats())
						runtime.Gosched() // leave the cores to the producers
					}
				}
			}()
			inParallel(8, 1000, func() { emit(context.Background(), p, 1) })
			inParallel(3, 1, func() { _ = p.ForceFlush(context.Background()) })
			inParallel(3, 1, func() { _ = p.Shutdown(context.Background()) })
			close(stop)
			<-watched
			s := p.Stats()
			if checkSum(t, s); s.Queued != 0 || s.Emitted != 8000 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}
