package otlp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"

	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const wait = 20 * time.Second

var (
	protocols = []settings.Protocol{settings.GRPC, settings.HTTPProtobuf}
	signals   = []settings.Signal{settings.Traces, settings.Metrics, settings.Logs}
)

// each runs a test for both protocols.
func each(t *testing.T, f func(t *testing.T, p settings.Protocol)) {
	t.Helper()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			f(t, p)
		})
	}
}

// plaintext is for a plaintext receiver at addr.
func plaintext(t *testing.T, p settings.Protocol, endpoint string) settings.OTLP {
	t.Helper()
	o, _, err := settings.ParseOTLP(settings.Traces, nil, env("OTEL_EXPORTER_OTLP_PROTOCOL", string(p), "OTEL_EXPORTER_OTLP_ENDPOINT", endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// env looks up names and texts in turn.
func env(variables ...string) settings.Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(variables); i += 2 {
			if variables[i] == name {
				return variables[i+1], true
			}
		}
		return "", false
	}
}

func addrOf(s *otlptest.Server, p settings.Protocol) string {
	if p == settings.GRPC {
		return s.GRPCURL()
	}
	return s.HTTPURL()
}

// newExporter makes a span exporter that is shut down with the test.
func newExporter(t *testing.T, o settings.OTLP) sdktrace.SpanExporter {
	t.Helper()
	e, err := NewTraceExporter(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return e
}

func spans(n int) []sdktrace.ReadOnlySpan {
	stubs := make(tracetest.SpanStubs, n)
	for i := range stubs {
		stubs[i] = tracetest.SpanStub{
			Name: fmt.Sprint("span ", i),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1, byte(i >> 8), byte(i)}, SpanID: trace.SpanID{1, byte(i >> 8), byte(i)}, TraceFlags: 1}),
			StartTime: time.Unix(1, 0), EndTime: time.Unix(2, 0),
		}
	}
	return stubs.Snapshots()
}

// exportOne sends one item of the signal.
func exportOne(t *testing.T, o settings.OTLP, signal settings.Signal) error {
	t.Helper()
	ctx := t.Context()
	switch signal {
	case settings.Traces:
		return newExporter(t, o).ExportSpans(ctx, spans(1))
	case settings.Metrics:
		o.Endpoint.Path = replaceSignal(o.Endpoint.Path, "metrics")
		e, err := NewMetricExporter(ctx, o, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Shutdown(context.Background()) }()
		return e.Export(ctx, &metricdata.ResourceMetrics{
			Resource: resource.NewSchemaless(attribute.String("service.name", "x")),
			ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{
				Name: "m", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Time: time.Unix(1, 0), Value: 7}}}}}}},
		})
	default:
		o.Endpoint.Path = replaceSignal(o.Endpoint.Path, "logs")
		e, err := NewLogExporter(ctx, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Shutdown(context.Background()) }()
		return e.Export(ctx, oneLog())
	}
}

// oneLog is made once, as the SDK reads the environment for it.
var oneLog = sync.OnceValue(func() []log.Record {
	p, kept := newLogs(resource.Empty())
	var r api.Record
	r.SetBody(attribute.StringValue("hello"))
	p.Logger("x").Emit(context.Background(), r)
	return *kept
})

func replaceSignal(path, signal string) string {
	if path == "/v1/traces" {
		return "/v1/" + signal
	}
	return path
}

func TestAllSignalsArrive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		for _, compression := range []string{settings.NoCompression, settings.Gzip} {
			srv := otlptest.Start(t)
			o := plaintext(t, p, addrOf(srv, p))
			o.Compression = compression
			o.Headers = []settings.Header{{Key: "X-Key", Value: "a=b, c %+"}, {Key: "authorization", Value: "Bearer x"}}
			for i, signal := range signals {
				if err := exportOne(t, o, signal); err != nil {
					t.Fatalf("%s: %v", signal, err)
				}
				reqs := srv.Requests()
				if len(reqs) != i+1 {
					t.Fatalf("%d requests", len(reqs))
				}
				r := reqs[i]
				if string(r.Signal) != string(signal) || string(r.Protocol) != string(p) || r.Items != 1 || r.Encoding != compression {
					t.Errorf("request %+v", r)
				}
				if r.Header.Get("X-Key") != "a=b, c %+" || r.Header.Get("Authorization") != "Bearer x" {
					t.Errorf("headers %v", r.Header)
				}
			}
			if s := srv.Spans(); len(s) != 1 || s[0].Name != "span 0" {
				t.Errorf("spans %+v", s)
			}
		}
	})
}

// Metadata of the program's own calls stays away from the receiver, and binary
// headers arrive.
func TestMetadata(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	o := plaintext(t, settings.GRPC, srv.GRPCURL())
	o.Headers = []settings.Header{{Key: "k-bin", Value: "\x00\xff"}}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-user", "s3cr3t")
	if err := newExporter(t, o).ExportSpans(ctx, spans(1)); err != nil {
		t.Fatal(err)
	}
	header := srv.Requests()[0].Header
	if got := header.Get("k-bin"); got != "\x00\xff" {
		t.Errorf("got %q", got)
	}
	if got := header.Get("x-user"); got != "" {
		t.Errorf("the receiver got %q", got)
	}
}

// C4, C11: whatever the variables say, an exporter does what it was told, and nobody
// prints them.
func TestEnvironmentChangesNothing(t *testing.T) {
	if !inChild() {
		t.Parallel()
		if out := runInChild(t); strings.Contains(out, "s3cr3t") {
			t.Error(out)
		}
		return
	}
	oneLog()
	other := otlptest.Start(t)
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
		"OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED", "OTEL_TRACES_SAMPLER",
	} {
		t.Setenv(name, "junk: s3cr3t %zz")
	}
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_LOGS_"} {
		t.Setenv(prefix+"ENDPOINT", other.HTTPURL()+"/elsewhere")
		t.Setenv(prefix+"HEADERS", "x-vendor=s3cr3t,Authorization: s3cr3t")
		t.Setenv(prefix+"INSECURE", "true")
		t.Setenv(prefix+"PROTOCOL", "junk: s3cr3t %zz")
		t.Setenv(prefix+"CERTIFICATE", "junk: s3cr3t %zz")
		t.Setenv(prefix+"CLIENT_CERTIFICATE", "junk: s3cr3t %zz")
		t.Setenv(prefix+"CLIENT_KEY", "junk: s3cr3t %zz")
		t.Setenv(prefix+"COMPRESSION", "gzip")
		t.Setenv(prefix+"TIMEOUT", "1")
	}
	for _, p := range protocols {
		srv := otlptest.Start(t)
		for _, signal := range signals {
			if err := exportOne(t, plaintext(t, p, addrOf(srv, p)), signal); err != nil {
				t.Errorf("%s %s: %v", p, signal, err)
			}
		}
		for _, r := range srv.Requests() {
			if r.Header.Get("x-vendor") != "" || r.Encoding != "" || r.Outcome != otlptest.Accepted {
				t.Errorf("%+v", r)
			}
		}
		if n := len(srv.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d requests elsewhere", n)
	}
}

const childVariable = "LENS_TEST_IN_CHILD"

func inChild() bool { return os.Getenv(childVariable) != "" }

// runInChild runs the calling test again in a process of its own, with more
// variables, and returns what it wrote.
func runInChild(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(append(os.Environ(), childVariable+"=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// Making and dropping an exporter leaves nothing behind, and touches no network.
func TestMakingOneStartsNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for _, p := range protocols {
		o := plaintext(t, p, "https://host.invalid:1")
		if _, err := NewTraceExporter(t.Context(), o, nil); err != nil {
			t.Error(err)
		}
		if _, err := NewMetricExporter(t.Context(), o, nil, nil, nil); err != nil {
			t.Error(err)
		}
		if _, err := NewLogExporter(t.Context(), o, nil); err != nil {
			t.Error(err)
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	o := plaintext(t, settings.GRPC, "")
	o.Protocol = "carrier-pigeon"
	if _, err := NewTraceExporter(t.Context(), o, nil); err == nil {
		t.Error("an unknown protocol is taken")
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p              settings.Protocol
		endpoint, want string
	}{
		{settings.GRPC, "127.0.0.1:4317", "grpc://127.0.0.1:4317 (plaintext)"},
		{settings.GRPC, "https://h", "grpc://h:443 (TLS)"},
		{settings.GRPC, "unix:///s", "unix:///s (plaintext)"},
		{settings.HTTPProtobuf, "https://h:1/base", "https://h:1/base/v1/traces (TLS)"},
		{settings.HTTPProtobuf, "[::1]", "http://[::1]:4318/v1/traces (plaintext)"},
	} {
		if got := Describe(plaintext(t, tt.p, tt.endpoint)); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestPartialSuccess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t)
		e := newExporter(t, plaintext(t, p, addrOf(srv, p)))
		for _, tt := range []struct{ reject, want int }{{2, 2}, {0, 0}} {
			srv.SetFault(otlptest.PartialSuccess(tt.reject, "s3cr3t reason"))
			err := e.ExportSpans(t.Context(), spans(5))
			var lost interface{ LostSpans() int }
			if !errors.As(err, &lost) || lost.LostSpans() != tt.want {
				t.Errorf("rejected %d: error is %v", tt.reject, err)
			}
			wantError(t, err, "5 spans")
		}
		// More than there were, and fewer than none.
		c := &client{settings: plaintext(t, p, "h:1")}
		for rejected, want := range map[int64]int{1 << 62: 5, -3: 0} {
			var lost interface{ LostSpans() int }
			if err := c.partial(rejected, "x", 5); !errors.As(err, &lost) || lost.LostSpans() != want {
				t.Errorf("%d: %v", rejected, err)
			}
		}
		for _, signal := range []settings.Signal{settings.Metrics, settings.Logs} {
			srv.SetFault(otlptest.PartialSuccess(1, "s3cr3t"))
			err := exportOne(t, plaintext(t, p, addrOf(srv, p)), signal)
			var partial *PartialError
			if !errors.As(err, &partial) || partial.Rejected != 1 || partial.Sent != 1 {
				t.Errorf("%s: error is %v", signal, err)
			}
		}
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t)
		e, err := NewTraceExporter(t.Context(), plaintext(t, p, addrOf(srv, p)), nil)
		if err != nil {
			t.Fatal(err)
		}
		// An export under way is waited for.
		srv.SetFault(otlptest.Slow(200 * time.Millisecond))
		result := make(chan error, 1)
		go func() { result <- e.ExportSpans(context.Background(), spans(1)) }()
		srv.WaitRequests(t, 1, wait)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-result; err != nil {
			t.Error(err)
		}
		if srv.Count(otlptest.Traces) != 1 {
			t.Error("the span is lost")
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Errorf("a second shutdown: %v", err)
		}
		if err := e.ExportSpans(t.Context(), spans(1)); !errors.Is(err, errShutdown) {
			t.Errorf("an export after shutdown: %v", err)
		}

		// And cancelled when there is no time.
		e, err = NewTraceExporter(t.Context(), plaintext(t, p, addrOf(srv, p)), nil)
		if err != nil {
			t.Fatal(err)
		}
		srv.SetFault(otlptest.Silent())
		go func() { result <- e.ExportSpans(context.Background(), spans(1)) }()
		srv.WaitRequests(t, 2, wait)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := e.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("export: %v", err)
		}
	})
	// From many sides at once.
	each(t, func(t *testing.T, p settings.Protocol) {
		srv := otlptest.Start(t)
		e, err := NewTraceExporter(t.Context(), plaintext(t, p, addrOf(srv, p)), nil)
		if err != nil {
			t.Fatal(err)
		}
		ten := make(chan struct{})
		var wg sync.WaitGroup
		var delivered atomic.Int64
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if err := e.ExportSpans(context.Background(), spans(1)); err == nil {
						delivered.Add(1)
					} else if !errors.Is(err, errShutdown) {
						t.Error(err)
					}
				}
			})
		}
		for range 2 {
			wg.Go(func() {
				<-ten
				if err := e.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		srv.WaitRequests(t, 10, wait) // by this goroutine, as it may end the test
		close(ten)
		wg.Wait()
		if n := srv.Count(otlptest.Traces); int64(n) != delivered.Load() || n < 10 {
			t.Errorf("%d spans arrived, %d were reported", n, delivered.Load())
		}
	})
	m, _ := NewMetricExporter(t.Context(), plaintext(t, settings.GRPC, ""), nil, nil, nil)
	l, _ := NewLogExporter(t.Context(), plaintext(t, settings.GRPC, ""), nil)
	if err := errors.Join(m.ForceFlush(t.Context()), l.ForceFlush(t.Context()), m.Shutdown(t.Context()), l.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if err := l.Export(t.Context(), []log.Record{{}}); !errors.Is(err, log.ErrExporterShutdown) {
		t.Error(err)
	}
}
