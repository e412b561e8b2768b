package logpipe

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

func TestBatchesAreFullAndOrdered(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp, Batch: queue.Config{BatchSize: 10, Delay: time.Hour}})
	emit(t.Context(), p, 25)
	until(t, "two full batches", func() bool { return p.Stats().Exported == 20 })
	wantStats(t, p, Stats{Stats: queue.Stats{Given: 25, Exported: 20, Queued: 5}})
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
	wantStats(t, p, Stats{Stats: queue.Stats{Given: 28, Exported: 28}})
	if exp.shutdowns() != 1 {
		t.Errorf("%d shutdowns of the exporter", exp.shutdowns())
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
	p := New(Settings{Exporter: exp, Endpoint: "grpc://there", Log: out.log(), Batch: queue.Config{QueueSize: 10, BatchSize: 5, Delay: time.Hour}})
	emit(t.Context(), p, 5)
	until(t, "with the exporter", func() bool { return len(exp.calls()) == 1 })
	emit(t.Context(), p, 10+7)
	wantStats(t, p, Stats{Stats: queue.Stats{Given: 22, Dropped: 7, Queued: 15}})
	until(t, "a warning", func() bool { return out.String() != "" })
	close(release)
	err := p.Shutdown(t.Context())
	wantStats(t, p, Stats{Stats: queue.Stats{Given: 22, Exported: 15, Dropped: 7}})
	var loss *outcome.LossError
	if !errors.As(err, &loss) || loss.Dropped != 7 || loss.Failed != 0 || loss.Of != 22 || loss.Cause != nil {
		t.Errorf("error %v", err)
	}
	const want = "lens: 7 of 22 log records lost on the way to grpc://there: dropped because the queue was full"
	if err != nil && err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// At every moment, in every mode, with an exporter that does everything exporters do,
// the numbers add up.
func TestBooksAreExact(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]queue.Config{
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
			if checkSum(t, s); s.Queued != 0 || s.Given != 8000 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}
