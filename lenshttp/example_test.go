//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
)

// record switches both groups on; the function that it returns prints the
// spans in the order of their ends.
func record() (print func()) {
	spans, finish := recordSpans()
	return func() {
		for _, s := range spans.GetSpans() {
			fmt.Println(s.SpanKind, s.Name, s.Status.Code)
		}
		finish()
	}
}

func ExampleNewHandler() {
	printSpans := record()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "item %s\n", r.PathValue("id"))
	})
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(lenshttp.NewHandler(mux, "server", lenshttp.WithExcludedPaths("/healthz")))

	for _, path := range []string{"/items/7?token=secret", "/healthz", "/nothing"} {
		res, err := http.Get(srv.URL + path)
		if err != nil {
			panic(err)
		}
		res.Body.Close()
	}
	srv.Close()
	http.DefaultClient.CloseIdleConnections()
	printSpans()
	// Output:
	// server GET /items/{id} Unset
	// server GET Unset
}

func ExampleNewTransport() {
	printSpans := record()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("traceparent") != "")
	}))
	client := &http.Client{Transport: lenshttp.NewTransport(srv.Client().Transport, "http_client")}
	for _, groups := range [][]lens.SpanGroup{{"http_client"}, {}} {
		lens.SetEnabledSpanGroups(groups...)
		res, err := client.Get(srv.URL)
		if err != nil {
			panic(err)
		}
		sent, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Printf("%v: header sent %s\n", groups, sent)
	}
	client.CloseIdleConnections()
	srv.Close()
	printSpans()
	// Output:
	// [http_client]: header sent true
	// []: header sent false
	// client GET Unset
}

// One span covers the attempts of a loop of the program's own.
func ExampleNewClient() {
	printSpans := record()
	client := lenshttp.NewClient(stubborn{}, "http_client", lenshttp.WithSpanName(lenshttp.MethodName))
	req, err := http.NewRequest(http.MethodPost, "http://model/v1/responses", nil)
	if err != nil {
		panic(err)
	}
	res, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	res.Body.Close()
	printSpans()
	// Output:
	// attempt 1
	// attempt 2
	// client HTTP POST Unset
}

// stubborn stands for a client that retries by itself.
type stubborn struct{}

func (stubborn) Do(*http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		fmt.Println("attempt", attempt)
		if attempt == 2 {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}
	}
}

// A middleware that adds to the request's context hands the mux a copy of the
// request, so the pattern has to be asked for.
func ExampleWithRoute() {
	printSpans := record()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(http.ResponseWriter, *http.Request) {})
	withUser := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, "u")))
	})
	h := lenshttp.NewHandler(withUser, "server", lenshttp.WithRoute(func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/items/7", nil))
	printSpans()
	// Output:
	// server GET /items/{id} Unset
}

type userKey struct{}

// Routers take middleware in this form. Several options shape one server's
// spans.
func ExampleMiddleware() {
	spans, finish := recordSpans()
	defer finish()
	traced := lenshttp.Middleware("server",
		lenshttp.WithScope("evalservice"),
		lenshttp.WithSpanName(lenshttp.MethodName),
		lenshttp.WithAttributes(func(r *http.Request) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("tenant", r.Header.Get("X-Tenant"))}
		}))
	h := traced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))

	req := httptest.NewRequest("GET", "/items/7", nil)
	req.Header.Set("X-Tenant", "blue")
	h.ServeHTTP(httptest.NewRecorder(), req)
	for _, s := range spans.GetSpans() {
		for _, kv := range s.Attributes {
			if kv.Key == "tenant" {
				fmt.Println(s.InstrumentationScope.Name, s.Name, kv.Value.AsString())
			}
		}
	}
	// Output: evalservice HTTP GET blue
}

// recordSpans is record for examples that look at the spans themselves.
func recordSpans() (spans *tracetest.InMemoryExporter, finish func()) {
	spans = tracetest.NewInMemoryExporter()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", ""
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithGlobalProvider(false),
		lens.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(spans)))
	if err != nil {
		panic(err)
	}
	lens.SetEnabledSpanGroups("server", "http_client")
	return spans, func() { _ = h.Shutdown(context.Background()) }
}

func ExampleMethodName() {
	fmt.Println(lenshttp.MethodName(httptest.NewRequest("POST", "/run", nil)))
	fmt.Println(lenshttp.MethodName(httptest.NewRequest("BREW", "/pot", nil)))
	// Output:
	// HTTP POST
	// HTTP
}

// Which requests get a span may depend on anything in the request.
func ExampleWithFilter() {
	printSpans := record()
	h := lenshttp.NewHandler(http.NotFoundHandler(), "server",
		lenshttp.WithFilter(func(r *http.Request) bool { return r.UserAgent() != "kube-probe" }))
	for _, agent := range []string{"kube-probe", "client"} {
		req := httptest.NewRequest("GET", "/ready", nil)
		req.Header.Set("User-Agent", agent)
		h.ServeHTTP(httptest.NewRecorder(), req)
	}
	printSpans()
	// Output: server GET Unset
}

// A model server that answers 429 is busy, and the caller waits: no error.
func ExampleWithErrorStatus() {
	printSpans := record()
	busy := roundTripFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}, nil
	})
	client := &http.Client{Transport: lenshttp.NewTransport(busy, "http_client",
		lenshttp.WithErrorStatus(func(code int) bool { return code >= 400 && code != http.StatusTooManyRequests }))}
	res, err := client.Get("http://model/")
	if err != nil {
		panic(err)
	}
	res.Body.Close()
	printSpans()
	// Output: client GET Unset
}

// A trace goes through a process that records none of it.
func ExampleWithAlwaysPropagate() {
	printSpans := record()
	lens.SetEnabledSpanGroups()
	var sent string
	model := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("traceparent")
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	client := &http.Client{Transport: lenshttp.NewTransport(model, "http_client", lenshttp.WithAlwaysPropagate())}
	agent := lenshttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), "GET", "http://model/", nil)
		res, err := client.Do(req)
		if err != nil {
			panic(err)
		}
		res.Body.Close()
	}), "server", lenshttp.WithAlwaysPropagate())

	req := httptest.NewRequest("GET", "/run", nil)
	req.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	agent.ServeHTTP(httptest.NewRecorder(), req)
	fmt.Println(sent)
	printSpans()
	// Output: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
}

// Callers from outside choose neither trace id nor sampling: their span is
// linked to, and the request starts a trace of its own.
func ExampleWithPublicEndpoint() {
	spans, finish := recordSpans()
	defer finish()
	h := lenshttp.NewHandler(http.NotFoundHandler(), "server", lenshttp.WithPublicEndpoint())
	req := httptest.NewRequest("GET", "/v1/chat", nil)
	req.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	h.ServeHTTP(httptest.NewRecorder(), req)

	span := spans.GetSpans()[0]
	fmt.Println("root:", !span.Parent.IsValid(), "linked to:", span.Links[0].SpanContext.SpanID())
	// Output: root: true linked to: 00f067aa0ba902b7
}

// Trace context alone, without baggage, goes to a server of somebody else.
func ExampleWithPropagators() {
	var names []string
	outside := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		for _, name := range []string{"traceparent", "baggage"} {
			if r.Header.Get(name) != "" {
				names = append(names, name)
			}
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	client := &http.Client{Transport: lenshttp.NewTransport(outside, "http_client",
		lenshttp.WithPropagators(propagation.TraceContext{}))}
	_, finish := recordSpans()
	defer finish()

	ctx := lens.ExtractContext(context.Background(), map[string]string{"baggage": "user=alice"})
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://example.com/", nil)
	res, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	res.Body.Close()
	fmt.Println(strings.Join(names, " "))
	// Output: traceparent
}

// The HTTP metrics of OpenTelemetry, for requests that get a span.
func ExampleWithMeterProvider() {
	reader := sdkmetric.NewManualReader()
	_, finish := recordSpans()
	defer finish()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) // or TelemetryHandle.MeterProvider
	h := lenshttp.NewHandler(http.NotFoundHandler(), "server", lenshttp.WithMeterProvider(meters))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/items/7", nil))

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		panic(err)
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if duration, ok := m.Data.(metricdata.Histogram[float64]); ok {
				fmt.Println(m.Name, m.Unit, "requests:", duration.DataPoints[0].Count)
			}
		}
	}
	// Output: http.server.request.duration s requests: 1
}

// A Client stands where an http.Client stood.
func ExampleClient() {
	printSpans := record()
	var doer lenshttp.Doer = http.DefaultClient
	client := lenshttp.NewClient(doer, "http_client")
	defer client.CloseIdleConnections()

	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sc := trace.SpanContextFromContext(lens.ExtractContext(r.Context(), map[string]string{"traceparent": r.Header.Get("Traceparent")}))
		fmt.Println("the server sees a trace:", sc.IsValid())
	}))
	defer srv.Close()
	req, _ := http.NewRequest("GET", srv.URL, nil)
	res, err := client.Do(req)
	if err != nil {
		panic(err)
	}
	res.Body.Close()
	printSpans()
	// Output:
	// the server sees a trace: true
	// client GET Unset
}

// A router that gets a copy of the request names the span through CarryRoute.
func ExampleCarryRoute() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "item ", r.PathValue("id")) })
	h := lenshttp.NewHandler(http.StripPrefix("/api", lenshttp.CarryRoute(mux)), "server")

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/api/items/7", nil))
	fmt.Println(w.Body)
	// Output: item 7
}
