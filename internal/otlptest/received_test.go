package otlptest

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Every part of a span can be read back as it was set.
func TestSpansShowEverything(t *testing.T) {
	t.Parallel()
	overBoth(t, patience, func(t *testing.T, s *Server, _ Protocol, exp sdktrace.SpanExporter) {
		state, err := trace.ParseTraceState("vendor=value")
		if err != nil {
			t.Fatal(err)
		}
		remote := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
		})
		limits := sdktrace.NewSpanLimits()
		limits.AttributeCountLimit, limits.EventCountLimit, limits.LinkCountLimit = 5, 1, 1
		tp := sdktrace.NewTracerProvider(
			sdktrace.WithSyncer(exp), sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithResource(resource.NewWithAttributes("https://example.test/schema", attribute.String("service.name", "svc"))),
		)
		start := time.Unix(1700000000, 123456789).UTC()
		_, span := tp.Tracer("the scope", trace.WithInstrumentationVersion("1.2.3")).Start(
			trace.ContextWithSpanContext(t.Context(), remote), "name",
			trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(start),
			trace.WithLinks(trace.Link{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Bool("l", true)}}),
			trace.WithLinks(trace.Link{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Bool("l", true)}}),
			trace.WithAttributes(
				attribute.String("s", "text"), attribute.Int("i", 7), attribute.Float64("f", 1.5),
				attribute.Bool("b", true), attribute.StringSlice("ss", []string{"x", "y"}), attribute.Int("over", 1)))
		span.AddEvent("dropped")
		span.AddEvent("kept", trace.WithTimestamp(start.Add(time.Second)), trace.WithAttributes(attribute.Int("n", 1)))
		span.SetStatus(codes.Error, "went wrong")
		span.End(trace.WithTimestamp(start.Add(2 * time.Second)))

		spans := s.WaitSpans(t, 1, patience)
		if len(spans) != 1 {
			t.Fatalf("%d spans, want 1", len(spans))
		}
		got := spans[0]
		if got.Proto == nil {
			t.Error("no raw message")
		}
		got.Proto = nil
		want := Span{
			Name: "name", TraceID: remote.TraceID(), SpanID: span.SpanContext().SpanID(), ParentSpanID: remote.SpanID(),
			Kind: trace.SpanKindClient, Start: start, End: start.Add(2 * time.Second),
			Attributes: map[string]any{"s": "text", "i": int64(7), "f": 1.5, "b": true, "ss": []any{"x", "y"}},
			Events:     []Event{{Name: "kept", Time: start.Add(time.Second), Attributes: map[string]any{"n": int64(1)}}},
			// Without its trace state, which this exporter does not send for links.
			Links:         []Link{{TraceID: remote.TraceID(), SpanID: remote.SpanID(), Flags: 0x301, Attributes: map[string]any{"l": true}}},
			StatusCode:    codes.Error,
			StatusMessage: "went wrong",
			Flags:         0x301, // sampled, with a parent known to be remote
			TraceState:    "vendor=value", DroppedAttributes: 1, DroppedEvents: 1, DroppedLinks: 1,
			Scope:             Scope{Name: "the scope", Version: "1.2.3", Attributes: map[string]any{}},
			Resource:          map[string]any{"service.name": "svc"},
			ResourceSchemaURL: "https://example.test/schema",
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if got.Duration() != 2*time.Second {
			t.Errorf("duration %v, want 2s", got.Duration())
		}
	})
}

func TestLinksShowTheirTraceState(t *testing.T) {
	t.Parallel()
	got := newSpan(&tracepb.Span{Links: []*tracepb.Span_Link{{TraceState: "a=b", DroppedAttributesCount: 2}}}).Links
	if len(got) != 1 || got[0].TraceState != "a=b" || got[0].DroppedAttributes != 2 {
		t.Errorf("links %+v", got)
	}
}

func TestRequestsShowTheWire(t *testing.T) {
	t.Parallel()
	s := Start(t)
	headers := map[string]string{"x-api-key": "abc=, def"}
	exps := map[Protocol]sdktrace.SpanExporter{
		GRPC: started(t)(otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpointURL(s.GRPCURL()),
			otlptracegrpc.WithHeaders(headers), otlptracegrpc.WithCompressor("gzip"))),
		HTTP: started(t)(otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.HTTPSignalURL(Traces)),
			otlptracehttp.WithHeaders(headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))),
	}
	paths := map[Protocol]string{GRPC: "/opentelemetry.proto.collector.trace.v1.TraceService/Export", HTTP: "/v1/traces"}
	for i, p := range []Protocol{GRPC, HTTP} {
		repetitive := made(t, 20, trace.WithAttributes(attribute.String("text", strings.Repeat("x", 100))))
		if err := exps[p].ExportSpans(t.Context(), repetitive); err != nil {
			t.Fatal(err)
		}
		r := s.Requests()[i]
		if r.Signal != Traces || r.Protocol != p || r.Path != paths[p] || r.Items != 20 || r.Outcome != Accepted {
			t.Errorf("%s: request %+v", p, r)
		}
		if r.Encoding != "gzip" || r.Size < 2000 || r.WireSize == 0 || r.WireSize > r.Size/2 {
			t.Errorf("%s: encoding %q, %d bytes, %d on the wire", p, r.Encoding, r.Size, r.WireSize)
		}
		if got := r.Header.Get("X-Api-Key"); got != "abc=, def" {
			t.Errorf("%s: header %q", p, got)
		}
		if host := r.Header.Get("Host") + r.Header.Get(":authority"); host != map[Protocol]string{GRPC: s.GRPCAddr(), HTTP: s.HTTPAddr()}[p] {
			t.Errorf("%s: host %q", p, host)
		}
	}
	spans := s.Spans()
	if len(spans) != 40 || spans[0].Request != 0 || spans[39].Request != 1 {
		t.Errorf("%d spans, the last of request %d", len(spans), spans[len(spans)-1].Request)
	}

	s.Reset()
	if len(s.Requests()) != 0 || len(s.Spans()) != 0 || s.Count(Traces) != 0 {
		t.Error("something is left after Reset")
	}
}

// A byte that is not UTF-8 makes the whole request undecodable, as at every receiver.
func TestInvalidUTF8IsRefused(t *testing.T) {
	t.Parallel()
	s := Start(t)
	body, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: "nXme"}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.Replace(body, []byte("nXme"), []byte("n\xffme"), 1)
	if status := post(t, s, "/v1/traces", protobufType, body); status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	wantOutcomes(t, s, Invalid)
}

func TestWrongIDsAreRefused(t *testing.T) {
	t.Parallel()
	for name, span := range map[string]*tracepb.Span{
		"trace id":     {TraceId: make([]byte, 15), SpanId: make([]byte, 8)},
		"span id":      {TraceId: make([]byte, 16), SpanId: make([]byte, 9)},
		"link span id": {Links: []*tracepb.Span_Link{{SpanId: make([]byte, 1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t)
			body, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
				ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{span}}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			if status := post(t, s, "/v1/traces", protobufType, body); status != http.StatusBadRequest {
				t.Errorf("status %d, want 400", status)
			}
			if s.Count(Traces) != 0 {
				t.Error("kept")
			}
		})
	}
}

func TestWhatIsNotServedIsRecorded(t *testing.T) {
	t.Parallel()
	s := Start(t, WithHTTPPath(Traces, "/custom/path"))
	for _, c := range []struct {
		path, kind string
		status     int
	}{
		{"/v1/traces/v1/traces", protobufType, http.StatusNotFound},
		{"/v1/traces", "application/json", http.StatusUnsupportedMediaType},
		{"/v1/logs", protobufType, http.StatusOK},
		{"/custom/path", protobufType, http.StatusOK},
	} {
		if got := post(t, s, c.path, c.kind, nil); got != c.status {
			t.Errorf("%s as %s: status %d, want %d", c.path, c.kind, got, c.status)
		}
	}
	wantOutcomes(t, s, Unknown, Invalid, Accepted, Accepted)
	if r := s.Requests(); r[0].Path != "/v1/traces/v1/traces" || r[3].Signal != Traces {
		t.Errorf("requests %+v", r)
	}
}

func post(t *testing.T, s *Server, path, kind string, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTPURL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestCountOnlyKeepsNothing(t *testing.T) {
	t.Parallel()
	s := Start(t, WithCountOnly())
	exp := exporters[GRPC](t, s, patience)
	if err := exp.ExportSpans(t.Context(), made(t, 4)); err != nil {
		t.Fatal(err)
	}
	if s.Count(Traces) != 4 || len(s.Spans()) != 0 || len(s.Requests()) != 0 {
		t.Errorf("count %d, %d spans, %d requests", s.Count(Traces), len(s.Spans()), len(s.Requests()))
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	for _, demand := range []bool{false, true} {
		option, name := WithTLS(), "server"
		if demand {
			option, name = WithClientCert(), "both"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, option)
			if !strings.HasPrefix(s.GRPCURL(), "https://") || !strings.HasPrefix(s.HTTPURL(), "https://") {
				t.Errorf("URLs %s and %s", s.GRPCURL(), s.HTTPURL())
			}
			good, anonymous := s.ClientTLS(), s.ClientTLS()
			anonymous.Certificates = nil
			for _, over := range secure(t, s, good) {
				if err := over.ExportSpans(t.Context(), made(t, 1)); err != nil {
					t.Errorf("with a certificate: %v", err)
				}
			}
			for p, over := range secure(t, s, anonymous) {
				limit := patience
				if demand {
					limit = 2 * time.Second // some retry until then
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				err := over.ExportSpans(ctx, made(t, 1))
				cancel()
				if (err != nil) != demand {
					t.Errorf("%s without a client certificate: error %v, demanded %v", p, err, demand)
				}
			}
		})
	}
}

func TestPublicFilesOfTLS(t *testing.T) {
	t.Parallel()
	s := Start(t, WithTLS())
	cert, key := s.ClientCertFiles()
	if files := []string{s.CAFile(), cert, key}; len(slices.Compact(slices.Sorted(slices.Values(files)))) != 3 {
		t.Errorf("files %q", files)
	}
	plain := Start(t)
	defer func() {
		if recover() == nil {
			t.Error("CAFile of a server without TLS did not panic")
		}
	}()
	plain.CAFile()
}

func TestTreeOfWhatArrived(t *testing.T) {
	t.Parallel()
	s := Start(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporters[GRPC](t, s, patience)))
	tracer := tp.Tracer("")
	at := func(n int) trace.SpanStartOption { return trace.WithTimestamp(time.Unix(int64(n), 0)) }
	ctx, job := tracer.Start(t.Context(), "job", at(1))
	_, second := tracer.Start(ctx, "second", at(3))
	second.End()
	inner, first := tracer.Start(ctx, "first", at(2))
	_, leaf := tracer.Start(inner, "leaf", at(4))
	leaf.End()
	first.End()
	early := s.WaitSpans(t, 3, patience)
	if got := Tree(early); got != "first (parent missing)\n└─ leaf\nsecond (parent missing)\n" {
		t.Errorf("without the root:\n%s", got)
	}
	if len(Orphans(early)) != 2 {
		t.Errorf("%d orphans, want 2", len(Orphans(early)))
	}
	job.End()
	spans := s.WaitSpans(t, 4, patience)
	if got := Tree(spans); got != "job\n├─ first\n│  └─ leaf\n└─ second\n" {
		t.Errorf("tree:\n%s", got)
	}
	CheckWhole(t, spans)
	CheckChild(t, One(t, spans, "job"), One(t, spans, "first"))
	if p, ok := Parent(spans, One(t, spans, "leaf")); !ok || p.Name != "first" {
		t.Errorf("parent of leaf: %q, %v", p.Name, ok)
	}
	names := map[string]bool{}
	for _, c := range Children(spans, One(t, spans, "job")) {
		names[c.Name] = true
	}
	if !maps.Equal(names, map[string]bool{"first": true, "second": true}) {
		t.Errorf("children of job: %v", names)
	}
	if ids := TraceIDs(spans); len(ids) != 1 || len(Orphans(spans)) != 0 {
		t.Errorf("%d traces, %d orphans", len(ids), len(Orphans(spans)))
	}
}

// A circle of parents must not hang the printer.
func TestTreeOfACircle(t *testing.T) {
	t.Parallel()
	a := Span{Name: "a", SpanID: trace.SpanID{1}, ParentSpanID: trace.SpanID{2}}
	b := Span{Name: "b", SpanID: trace.SpanID{2}, ParentSpanID: trace.SpanID{1}}
	if got := Tree([]Span{a, b}); !strings.HasPrefix(got, "(circle) a\n└─ b\n") {
		t.Errorf("tree:\n%s", got)
	}
}
