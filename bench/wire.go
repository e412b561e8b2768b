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

// close returns how many spans arrived that no wait has counted.
func (r *remote) close() (n int) {
	must(r.stdin.Close())
	for r.lines.Scan() {
		var got int
		_, err := fmt.Sscan(r.lines.Text(), &got)
		must(err)
		n += got
	}
	_ = r.cmd.Wait() // the server was stopped, which it reports
	return n
}

// wire measures the CPU time of the sending process, from the start of a span
// to its arrival at a receiver over OTLP/gRPC. Spans are made in bursts that
// fit into both queues, so that nothing is lost and all are waited for.
func wire(r *run) {
	burst, bursts := 1500, r.scaled(40)
	receiving := startReceiver()
	defer receiving.close()
	ctx := context.Background()
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(receiving.address), otlptracegrpc.WithInsecure())
	must(err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.SpanGroups, cfg.MetricsEnabled, cfg.Endpoint = true, "per_step", false, "http://"+receiving.address
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
	for range max(r.rounds/2, 1) {
		for i := range senders {
			sender := &senders[i]
			before := cpuTime()
			for range bursts {
				sender.loop(burst)
				must(sender.flush())
				receiving.wait(burst)
			}
			sender.times = append(sender.times, float64(cpuTime()-before)/float64(burst*bursts))
		}
	}
	var results []result
	for _, sender := range senders {
		result := result{subject: subject{name: sender.name}, times: sender.times}
		result.median, result.low, result.high = quartiles(sender.times)
		results = append(results, result)
	}
	fmt.Fprint(r, "\n### CPU time of the sending process, from start to received\n\n| | CPU ns a span | spread | ratio |\n|---|---:|---:|---:|\n")
	for _, one := range results {
		fmt.Fprintf(r, "| %s | %.0f | %.0f %% | %.2f |\n", one.name, one.median, 100*(one.high-one.low)/one.median, one.median/results[0].median)
	}
	r.compare("CPU time from start to received: lens / OTel SDK with otlptracegrpc", 0.5, results[1], results[0])
	must(provider.Shutdown(ctx))
	must(h.Shutdown(ctx))
}
