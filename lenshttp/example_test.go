//go:build !lens_noop

package lenshttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/lenshttp"
)

// record switches both groups on; the function that it returns prints the
// spans in the order of their ends.
func record() (print func()) {
	spans := tracetest.NewInMemoryExporter()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.SpanGroups = true, "none", ""
	h, err := lens.SetupTelemetry(context.Background(), cfg, lens.WithGlobalProvider(false),
		lens.WithSpanProcessor(sdktrace.NewSimpleSpanProcessor(spans)))
	if err != nil {
		panic(err)
	}
	lens.SetEnabledSpanGroups("server", "http_client")
	return func() {
		for _, s := range spans.GetSpans() {
			fmt.Println(s.SpanKind, s.Name, s.Status.Code)
		}
		_ = h.Shutdown(context.Background())
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

func ExampleWithRetry() {
	printSpans := record()
	failing := 0
	base := roundTripFunc(func(*http.Request) (*http.Response, error) {
		if failing++; failing < 3 {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	client := &http.Client{Transport: lenshttp.NewTransport(base, "http_client", lenshttp.WithRetry(lenshttp.Retry{
		Attempts: 5,
		Wait:     func(resend int) time.Duration { return time.Duration(resend) * time.Millisecond },
	}))}
	res, err := client.Get("http://model/")
	if err != nil {
		panic(err)
	}
	res.Body.Close()
	fmt.Println(res.StatusCode, "after", failing, "attempts")
	printSpans()
	// Output:
	// 200 after 3 attempts
	// client GET Unset
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
