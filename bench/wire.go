package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/nemo-lens/lens"
)

// receiver is an OTLP receiver that counts spans. It is a process of its own,
// so that its work is not taken for the sender's.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	out io.Writer
}

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	n := 0
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			n += len(ss.Spans)
		}
	}
	fmt.Fprintln(r.out, n)
	return &collector.ExportTraceServiceResponse{}, nil
}

// receive prints its address and then the number of spans of each request,
// until standard input ends.
func receive() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	collector.RegisterTraceServiceServer(s, &receiver{out: os.Stdout})
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	must(s.Serve(l))
}

// remote is a receiver in another process.
type remote struct {
	address string
	cmd     *exec.Cmd
	stdin   io.Closer
	lines   *bufio.Scanner
}

func startReceiver() *remote {
	self, err := os.Executable()
	must(err)
	cmd := exec.Command(self, "-receive")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(err)
	stdout, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	r := &remote{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	if !r.lines.Scan() {
		panic("the receiver did not start")
	}
	r.address = strings.TrimSpace(r.lines.Text())
	return r
}

// wait returns when n spans have arrived.
func (r *remote) wait(n int) {
	for n > 0 && r.lines.Scan() {
		var got int
		_, err := fmt.Sscan(r.lines.Text(), &got)
		must(err)
		n -= got
	}
}

func (r *remote) close() {
	must(r.stdin.Close())
	_ = r.cmd.Wait() // the server was stopped, which it reports
}

// cpuTime is what this process has used, on all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// wire measures the CPU time of the sending process, from the start of a span
// to its arrival at a receiver over OTLP/gRPC. Spans are made in bursts that
// fit into both queues, so that nothing is lost and all are waited for.
func wire(w io.Writer, rounds int) {
	const burst, bursts = 1500, 40
	r := startReceiver()
	defer r.close()
	ctx := context.Background()
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(r.address), otlptracegrpc.WithInsecure())
	must(err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.Endpoint = true, "per_step", false, "http://"+r.address
	h, err := lens.SetupTelemetry(ctx, cfg, lens.WithRank(0, 1), lens.WithGlobalProvider(false))
	must(err)
	s := shape{2, 1}
	senders := []struct {
		name  string
		loop  func(int)
		flush func() error
		times []float64
	}{
		{name: "OTel SDK with otlptracegrpc", loop: otelLoop(provider.Tracer("bench"), s, true), flush: func() error { return provider.ForceFlush(ctx) }},
		{name: "lens", loop: lensLoop(lens.Step, s), flush: func() error { return h.ForceFlush(ctx) }},
	}
	for range max(rounds, 3) {
		for i := range senders {
			sender := &senders[i]
			before := cpuTime()
			for range bursts {
				sender.loop(burst)
				must(sender.flush())
				r.wait(burst)
			}
			sender.times = append(sender.times, float64(cpuTime()-before)/(burst*bursts))
		}
	}
	var results []result
	for _, sender := range senders {
		r := result{subject: subject{name: sender.name}}
		r.median, r.low, r.high = quartiles(sender.times)
		results = append(results, r)
	}
	write(w, table{title: "CPU time of the sending process, from start to received (ns a span)"}, results)
	must(provider.Shutdown(ctx))
	must(h.Shutdown(ctx))
}
