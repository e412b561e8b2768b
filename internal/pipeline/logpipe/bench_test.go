package logpipe

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/queue"
)

type discard struct{}

func (discard) Export(context.Context, []sdklog.Record) error { return nil }
func (discard) Shutdown(context.Context) error                { return nil }
func (discard) ForceFlush(context.Context) error              { return nil }

// BenchmarkEmit compares a record's way into the queue with the SDK's batch processor.
// Compare lens with sdk in one run; %lost says what the speed is worth.
func BenchmarkEmit(b *testing.B) {
	var r log.Record
	r.SetBody(attribute.StringValue("a line of text"))
	r.SetSeverity(log.SeverityInfo)
	r.AddAttributes(attribute.String("k", "v"), attribute.Int("n", 1))
	run := func(b *testing.B, l log.Logger) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				l.Emit(context.Background(), r)
			}
		})
	}
	b.Run("lens", func(b *testing.B) {
		p := New(Settings{Exporter: discard{}})
		run(b, p.Provider.Logger("bench"))
		_ = p.Shutdown(context.Background())
		s := p.Stats()
		b.ReportMetric(100*float64(s.Dropped)/float64(s.Given), "%lost")
	})
	b.Run("sdk", func(b *testing.B) {
		e := &counter{}
		p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(e)))
		run(b, p.Logger("bench"))
		_ = p.Shutdown(context.Background())
		b.ReportMetric(100*(1-float64(e.n)/float64(b.N)), "%lost")
	})
}

type counter struct {
	discard
	n int
}

func (c *counter) Export(_ context.Context, r []sdklog.Record) error {
	c.n += len(r)
	return nil
}

// BenchmarkEmitInOutage has the exporter busy all the time, so that each record's
// goroutine is looked at. Compare it with lens above.
func BenchmarkEmitInOutage(b *testing.B) {
	release := make(chan struct{})
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { <-release; return nil }}
	p := New(Settings{Exporter: exp, Batch: queue.Config{BatchSize: 1, QueueSize: 1, MaxWait: -1}})
	l := p.Provider.Logger("bench")
	var r log.Record
	r.SetBody(attribute.StringValue("a line of text"))
	l.Emit(context.Background(), r)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Emit(context.Background(), r)
		}
	})
	close(release)
	_ = p.Shutdown(context.Background())
}
