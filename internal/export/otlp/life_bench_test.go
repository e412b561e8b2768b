//go:build unix

package otlp

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/settings"
)

// receiver starts a receiver in a process of its own, whose work is not this one's.
func receiver(b *testing.B) (url string) {
	b.Helper()
	if inChild() {
		srv := otlptest.Start(b, otlptest.WithCountOnly())
		fmt.Println("url", srv.GRPCURL())
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent is gone
		b.SkipNow()
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^"+b.Name()+"$", "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "url "); ok {
			return url
		}
	}
	b.Fatal("the receiver did not start")
	return ""
}

// spent is the CPU time and the number of allocations of this process.
func spent(b *testing.B) (time.Duration, uint64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), m.Mallocs
}

// BenchmarkLife is the whole life of a span with two attributes, from its start to its
// bytes at a receiver in another process, in CPU time of this one. Each round runs both
// one after the other. of-sdk is the ratio and wants to be 0.5 or less.
func BenchmarkLife(b *testing.B) {
	url := receiver(b)
	ctx := context.Background()
	upstream, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(url))
	if err != nil {
		b.Fatal(err)
	}
	sdk := sdktrace.NewTracerProvider(sdktrace.WithBatcher(upstream, sdktrace.WithBlocking()))
	o, _, err := settings.ParseOTLP(settings.Traces, nil, env("OTEL_EXPORTER_OTLP_ENDPOINT", url))
	if err != nil {
		b.Fatal(err)
	}
	e, err := NewTraceExporter(ctx, o, nil)
	if err != nil {
		b.Fatal(err)
	}
	q := queue.New(queue.Config{Block: true}, e.Export)
	lens := record.New(record.Settings{Sink: q.Put, Limits: sdktrace.NewSpanLimits()})
	live := func(p trace.TracerProvider, n int, flush func(context.Context) error) (time.Duration, uint64) {
		cpu, allocs := spent(b)
		tracer := p.Tracer("scope")
		for i := range n {
			_, span := tracer.Start(ctx, "span", trace.WithAttributes(attribute.Int("step", i), attribute.String("kind", "train")))
			span.End()
		}
		if err := flush(ctx); err != nil {
			b.Fatal(err)
		}
		after, more := spent(b)
		return after - cpu, more - allocs
	}
	const round = 20_000
	live(sdk, round, sdk.ForceFlush)
	live(lens, round, q.Flush)
	var theirs, ours time.Duration
	var theirAllocs, ourAllocs uint64
	n := 0
	for b.Loop() {
		t, a := live(sdk, round, sdk.ForceFlush)
		theirs, theirAllocs = theirs+t, theirAllocs+a
		t, a = live(lens, round, q.Flush)
		ours, ourAllocs = ours+t, ourAllocs+a
		n += round
	}
	b.ReportMetric(float64(theirs.Nanoseconds())/float64(n), "sdk-cpu-ns/span")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(n), "cpu-ns/span")
	b.ReportMetric(float64(ours)/float64(theirs), "of-sdk")
	b.ReportMetric(float64(theirAllocs)/float64(n), "sdk-allocs/span")
	b.ReportMetric(float64(ourAllocs)/float64(n), "allocs/span")
	if err := q.Shutdown(ctx); err != nil {
		b.Error(err)
	}
	if err := e.Shutdown(ctx); err != nil {
		b.Error(err)
	}
	if err := sdk.Shutdown(ctx); err != nil {
		b.Error(err)
	}
}
