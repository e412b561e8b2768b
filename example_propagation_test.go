//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// fromPython is what a Python process of the job has sent along.
const fromPython = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A worker takes a message from a queue and goes on in the trace of its sender.
func ExampleExtractContext() {
	defer printSpans("worker")()

	headers := map[string]string{"traceparent": fromPython}
	ctx := lens.ExtractContext(context.Background(), headers)
	_, span := lens.ManagedSpan(ctx, "worker", "score")
	fmt.Println(span.SpanContext().TraceID())
	lens.End(span, nil)
	// Output:
	// 4bf92f3577b34da6a3ce929d0e0e4736
	// score
}

// Any carrier of texts will do: here the headers of an HTTP request. Package
// lenshttp does this for net/http.
func ExampleInjectContext() {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans))
	defer shutDown(h)
	lens.SetEnabledSpanGroups("client", "server")

	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx := lens.ExtractContext(r.Context(), map[string]string{"traceparent": r.Header.Get("traceparent")})
		_, span := lens.ManagedSpan(ctx, "server", "verify")
		lens.End(span, nil)
	}))
	defer server.Close()

	ctx, span := lens.ManagedSpan(context.Background(), "client", "POST /verify")
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
	carrier := map[string]string{}
	lens.InjectContext(ctx, carrier)
	for name, value := range carrier {
		req.Header.Set(name, value)
	}
	res, err := server.Client().Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	lens.End(span, nil)

	printTree(h, spans)
	// Output:
	// POST /verify
	//   verify
}

// A child process continues the trace of its parent: InjectEnv makes the
// environment for exec.Cmd.Env, and the child starts from ExtractEnv.
func ExampleInjectEnv() {
	ctx := lens.ExtractContext(context.Background(), map[string]string{"traceparent": fromPython})
	for _, kv := range lens.InjectEnv(ctx, []string{"LANG=C", "TRACEPARENT=of an earlier step"}) {
		fmt.Println(kv)
	}
	// Output:
	// LANG=C
	// TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
}

func ExampleExtractEnv() {
	defer setenv("TRACEPARENT=" + fromPython)()

	ctx := lens.ExtractEnv(context.Background())
	fmt.Println(trace.SpanContextFromContext(ctx).TraceID())
	// Output: 4bf92f3577b34da6a3ce929d0e0e4736
}

// Transports that carry bytes, a collective operation or a file for example,
// carry a trace as well.
func ExampleSerializeContext() {
	ctx := lens.ExtractContext(context.Background(), map[string]string{"traceparent": fromPython})
	payload := lens.SerializeContext(ctx)
	fmt.Println(string(payload))

	there := lens.DeserializeContext(context.Background(), payload)
	fmt.Println(trace.SpanContextFromContext(there).SpanID())

	// What cannot be read leaves the context as it is.
	same := lens.DeserializeContext(there, []byte("\x00\x01"))
	fmt.Println(same == there)
	// Output:
	// {"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	// 00f067aa0ba902b7
	// true
}

// All ranks of a job join the trace of rank 0.
func ExampleBroadcastTraceContext() {
	const ranks = 3
	broadcast := newInProcess(ranks)
	joined := make([]string, ranks)
	var wg sync.WaitGroup
	for rank := range ranks {
		wg.Go(func() {
			ctx := context.Background()
			if rank == 0 {
				ctx = lens.ExtractContext(ctx, map[string]string{"traceparent": fromPython})
			}
			carrier, err := lens.BroadcastTraceContext(ctx, broadcast, rank, 0)
			if err != nil {
				joined[rank] = err.Error()
				return
			}
			ctx = lens.ExtractContext(ctx, carrier)
			joined[rank] = trace.SpanContextFromContext(ctx).TraceID().String()
		})
	}
	wg.Wait()
	fmt.Println(strings.Join(joined, "\n"))
	// Output:
	// 4bf92f3577b34da6a3ce929d0e0e4736
	// 4bf92f3577b34da6a3ce929d0e0e4736
	// 4bf92f3577b34da6a3ce929d0e0e4736
}

// A Broadcaster wraps what the ranks of the job have between them, NCCL or MPI
// for example. This one joins goroutines.
func ExampleBroadcaster() {
	var b lens.Broadcaster = newInProcess(1)
	got, err := b.Broadcast(context.Background(), 0, []byte("payload"))
	fmt.Println(string(got), err)
	// Output: payload <nil>
}

type inProcess struct {
	payload chan []byte
	others  int
}

func newInProcess(ranks int) *inProcess {
	return &inProcess{payload: make(chan []byte, ranks), others: ranks - 1}
}

func (b *inProcess) Broadcast(ctx context.Context, _ int, payload []byte) ([]byte, error) {
	if payload == nil { // not the root
		select {
		case payload = <-b.payload:
			return payload, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for range b.others {
		b.payload <- payload
	}
	return payload, nil
}
