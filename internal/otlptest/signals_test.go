package otlptest

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

func parentOf(ctx context.Context) (context.Context, trace.SpanContext) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{8}, TraceFlags: trace.FlagsSampled})
	return trace.ContextWithSpanContext(ctx, sc), sc
}

func TestMetricsShowEverything(t *testing.T) {
	t.Parallel()
	connect := map[Protocol]func(s *Server) (sdkmetric.Exporter, error){
		GRPC: func(s *Server) (sdkmetric.Exporter, error) {
			return otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpointURL(s.GRPCURL()))
		},
		HTTP: func(s *Server) (sdkmetric.Exporter, error) {
			return otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(s.HTTPSignalURL(Metrics)))
		},
	}
	for p, dial := range connect {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := Start(t)
			exp, err := dial(s)
			if err != nil {
				t.Fatal(err)
			}
			mp := sdkmetric.NewMeterProvider(
				sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exp, sdkmetric.WithInterval(time.Hour))),
				sdkmetric.WithResource(resource.NewSchemaless(attribute.String("service.name", "svc"))))
			defer func() { _ = mp.Shutdown(context.Background()) }()
			m := mp.Meter("the meter")
			ctx, sc := parentOf(t.Context())
			counter, err1 := m.Int64Counter("c", metric.WithUnit("{thing}"), metric.WithDescription("counts"))
			gauge, err2 := m.Float64Gauge("g")
			hist, err3 := m.Float64Histogram("h", metric.WithExplicitBucketBoundaries(1, 2))
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			counter.Add(ctx, 3, metric.WithAttributes(attribute.String("k", "a")))
			counter.Add(ctx, 4, metric.WithAttributes(attribute.String("k", "b")))
			gauge.Record(ctx, 2.5)
			hist.Record(ctx, 1.5)
			if err := mp.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := map[string]Metric{}
			for _, x := range s.WaitMetrics(t, 4, patience) {
				got[x.Name] = x
				if x.Scope.Name != "the meter" || x.Resource["service.name"] != "svc" || x.Proto == nil {
					t.Errorf("%s: scope %+v, resource %v", x.Name, x.Scope, x.Resource)
				}
			}
			c, g, h := got["c"], got["g"], got["h"]
			if c.Kind != Sum || !c.Monotonic || c.Delta || c.Unit != "{thing}" || c.Description != "counts" {
				t.Errorf("counter %+v", c)
			}
			values := map[any]any{}
			for _, p := range c.Points {
				values[p.Attributes["k"]] = p.Value
				if len(p.Exemplars) != 1 || p.Exemplars[0].SpanID != sc.SpanID() || p.Exemplars[0].TraceID != sc.TraceID() {
					t.Errorf("exemplars %+v", p.Exemplars)
				}
			}
			if !reflect.DeepEqual(values, map[any]any{"a": int64(3), "b": int64(4)}) {
				t.Errorf("counter values %v", values)
			}
			if g.Kind != Gauge || len(g.Points) != 1 || g.Points[0].Value != 2.5 {
				t.Errorf("gauge %+v", g)
			}
			if h.Kind != Histogram || len(h.Points) != 1 || h.Points[0].Count != 1 || h.Points[0].Sum != 1.5 ||
				*h.Points[0].Min != 1.5 || *h.Points[0].Max != 1.5 ||
				!reflect.DeepEqual(h.Points[0].Bounds, []float64{1, 2}) || !reflect.DeepEqual(h.Points[0].Buckets, []uint64{0, 1, 0}) {
				t.Errorf("histogram %+v", h)
			}
			if r := s.Requests(); len(r) != 1 || r[0].Signal != Metrics || r[0].Items != 4 || r[0].Protocol != p {
				t.Errorf("requests %+v", r)
			}

			s.SetFault(PartialSuccess(1, "one is odd").On(Metrics))
			err = mp.ForceFlush(t.Context())
			if err == nil || !strings.Contains(err.Error(), "one is odd") {
				t.Errorf("error %v, want the message of the partial success", err)
			}
			if n := s.Count(Metrics); n != 7 {
				t.Errorf("%d points, want 4 and 3", n)
			}
			points := 0
			for _, x := range s.Metrics() {
				points += len(x.Points)
			}
			if points != 7 {
				t.Errorf("%d points kept, want 7", points)
			}
			s.SetFault()
		})
	}
}

func TestLogsShowEverything(t *testing.T) {
	t.Parallel()
	connect := map[Protocol]func(s *Server) (sdklog.Exporter, error){
		GRPC: func(s *Server) (sdklog.Exporter, error) {
			return otlploggrpc.New(t.Context(), otlploggrpc.WithEndpointURL(s.GRPCURL()))
		},
		HTTP: func(s *Server) (sdklog.Exporter, error) {
			return otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(s.HTTPSignalURL(Logs)))
		},
	}
	for p, dial := range connect {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			s := Start(t)
			exp, err := dial(s)
			if err != nil {
				t.Fatal(err)
			}
			lp := sdklog.NewLoggerProvider(
				sdklog.WithProcessor(sdklog.NewSimpleProcessor(exp)),
				sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "svc"))))
			defer func() { _ = lp.Shutdown(context.Background()) }()
			ctx, sc := parentOf(t.Context())
			at := time.Unix(1700000000, 5).UTC()
			var rec log.Record
			rec.SetTimestamp(at)
			rec.SetSeverity(log.SeverityWarn)
			rec.SetSeverityText("WARN")
			rec.SetBody(attribute.MapValue(attribute.String("what", "odd"), attribute.Slice("list", attribute.Int64Value(1), attribute.ByteSliceValue([]byte{2}))))
			rec.AddAttributes(attribute.Bool("b", true))
			lp.Logger("the logger").Emit(ctx, rec)

			logs := s.WaitLogs(t, 1, patience)
			if len(logs) != 1 {
				t.Fatalf("%d records, want 1", len(logs))
			}
			got := logs[0]
			if got.Proto == nil || got.ObservedTime.IsZero() {
				t.Errorf("raw %v, observed %v", got.Proto, got.ObservedTime)
			}
			got.Proto, got.ObservedTime = nil, time.Time{}
			want := LogRecord{
				Time: at, Severity: 13, SeverityText: "WARN",
				Body:       map[string]any{"what": "odd", "list": []any{int64(1), []byte{2}}},
				Attributes: map[string]any{"b": true}, TraceID: sc.TraceID(), SpanID: sc.SpanID(), Flags: 1,
				Scope: Scope{Name: "the logger", Attributes: map[string]any{}}, Resource: map[string]any{"service.name": "svc"},
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}

			s.SetFault(PartialSuccess(1, "one is odd").On(Logs))
			lp.Logger("").Emit(ctx, rec)
			s.WaitRequests(t, 2, patience)
			wantOutcomes(t, s, Accepted, Partial)
			if n := len(s.Logs()); n != 1 {
				t.Errorf("%d records, want still 1", n)
			}
		})
	}
}
