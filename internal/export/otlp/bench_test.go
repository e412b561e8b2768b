package otlp

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/otlptest"
	"github.com/nemo-lens/lens/internal/settings"
)

// BenchmarkExport sends batches of 512 spans to a receiver in the same process,
// with OpenTelemetry's exporters and with these.
func BenchmarkExport(b *testing.B) {
	srv := otlptest.Start(b, otlptest.WithCountOnly())
	batch := spans(512)
	ours := func(p settings.Protocol, endpoint string) sdktrace.SpanExporter {
		o, _, err := settings.ParseOTLP(settings.Traces, nil, env("OTEL_EXPORTER_OTLP_PROTOCOL", string(p), "OTEL_EXPORTER_OTLP_ENDPOINT", endpoint))
		if err != nil {
			b.Fatal(err)
		}
		e, err := NewTraceExporter(b.Context(), o, nil)
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	upstreamGRPC, err := otlptracegrpc.New(b.Context(), otlptracegrpc.WithEndpointURL(srv.GRPCURL()))
	if err != nil {
		b.Fatal(err)
	}
	upstreamHTTP, err := otlptracehttp.New(b.Context(), otlptracehttp.WithEndpointURL(srv.HTTPURL()+"/v1/traces"))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		e    sdktrace.SpanExporter
	}{
		{"grpc/otel", upstreamGRPC}, {"grpc/lens", ours(settings.GRPC, srv.GRPCURL())},
		{"http/otel", upstreamHTTP}, {"http/lens", ours(settings.HTTPProtobuf, srv.HTTPURL())},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.e.ExportSpans(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := c.e.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
	}
}
