package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

func overGRPC(tb testing.TB, addr string) sdktrace.SpanExporter {
	exp, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpoint(addr), otlptracegrpc.WithInsecure())
	if err != nil {
		tb.Fatal(err)
	}
	return exp
}

func overHTTP(tb testing.TB, addr string) sdktrace.SpanExporter {
	exp, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpoint(addr), otlptracehttp.WithInsecure())
	if err != nil {
		tb.Fatal(err)
	}
	return exp
}

// What the books say is exported is what a receiver took, also when it goes away in
// between and comes back.
func TestReceiverAgrees(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	for name, exp := range map[string]sdktrace.SpanExporter{
		"gRPC": overGRPC(t, srv.GRPCAddr()),
		"HTTP": overHTTP(t, srv.HTTPAddr()),
	} {
		srv.Reset()
		p := over(exp, queue.Config{QueueSize: 2000, BatchSize: 100, Block: true, ExportTimeout: 5 * time.Second})
		inParallel(8, 4000, func() { end(p, 1) })
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		srv.Stop()
		end(p, 50)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := p.ForceFlush(ctx); err == nil {
			t.Errorf("%s: a flush without a receiver gave no error", name)
		}
		cancel()
		srv.Restart(t)
		end(p, 50)
		_ = p.Shutdown(t.Context()) // the 50 are retried by gRPC, and lost by HTTP
		s := p.Counts()
		if got := srv.Count(otlptest.Traces); uint64(got) != s.Exported || s.Exported < 4050 || s.Queued != 0 {
			t.Errorf("%s: the receiver has %d, stats %+v", name, got, s)
		}
		checkSum(t, s)
	}
}

// A collector that is away, silent or refuses: Shutdown returns in time with the
// number, and TestMain finds no goroutine left.
func TestShutdownWithoutCollector(t *testing.T) {
	t.Parallel()
	refusing := otlptest.Start(t)
	refusing.SetFault(otlptest.Reject(16, 401))
	type connect func(testing.TB, string) sdktrace.SpanExporter
	for name, c := range map[string]struct {
		connect connect
		addr    string
	}{
		"closed, gRPC":   {overGRPC, otlptest.ClosedAddr(t)},
		"closed, HTTP":   {overHTTP, otlptest.ClosedAddr(t)},
		"silent, gRPC":   {overGRPC, otlptest.SilentAddr(t)},
		"silent, HTTP":   {overHTTP, otlptest.SilentAddr(t)},
		"refusing, gRPC": {overGRPC, refusing.GRPCAddr()},
		"refusing, HTTP": {overHTTP, refusing.HTTPAddr()},
	} {
		for _, n := range []int{1, 2048} {
			t.Run(name, func(t *testing.T) {
				p := over(c.connect(t, c.addr), queue.Config{})
				end(p, n)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				err := p.Shutdown(ctx)
				if d := time.Since(began); d > 9*time.Second { // of 10 to 30 s that an export takes
					t.Errorf("returned after %v", d)
				}
				var loss *outcome.LossError
				if !errors.As(err, &loss) || loss.Dropped+loss.Failed != uint64(n) || loss.Of != uint64(n) {
					t.Errorf("error %v", err)
				}
				s := p.Counts()
				if checkSum(t, s); s.Dropped+s.Failed != uint64(n) {
					t.Errorf("stats %+v", s)
				}
			})
		}
	}
}

// BenchmarkBursts sends 8 times 1000 spans every 100 ms to a receiver on the same
// cores, over gRPC. The share that is lost wants to be 5 % or less.
func BenchmarkBursts(b *testing.B) {
	srv := otlptest.Start(b, otlptest.WithCountOnly())
	p := over(overGRPC(b, srv.GRPCAddr()), queue.Config{})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for b.Loop() {
		inParallel(8, 8000, func() { end(p, 1) })
		<-tick.C
	}
	_ = p.Shutdown(context.Background())
	s := p.Counts()
	if got := srv.Count(otlptest.Traces); uint64(got) != s.Exported {
		b.Errorf("the receiver has %d, stats %+v", got, s)
	}
	b.ReportMetric(100*float64(s.Dropped+s.Failed)/float64(s.Given), "%lost")
}
