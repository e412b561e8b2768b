//go:build !lens_noop

package lens_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// quiet keeps lens's start-up line out of the examples' output.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// printSpans switches exactly these groups on. The function that it returns
// shuts telemetry down and prints the spans as a tree: name, attributes, and
// "!" with the message of an error. Examples use it as
//
//	defer printSpans(lens.Step)()
func printSpans(groups ...lens.SpanGroup) (finish func()) {
	spans := tracetest.NewInMemoryExporter()
	h := setUp(lens.WithSpanExporter(spans))
	lens.SetEnabledSpanGroups(groups...)
	return func() {
		printTree(h, spans)
		shutDown(h)
	}
}

// setUp is SetupTelemetry for an example that is about something else.
func setUp(opts ...lens.Option) *lens.TelemetryHandle {
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.RunID = true, "none", "run-7"
	h, err := lens.SetupTelemetry(context.Background(), cfg, append([]lens.Option{lens.WithLogger(quiet)}, opts...)...)
	if err != nil {
		panic(err)
	}
	return h
}

func shutDown(h *lens.TelemetryHandle) {
	if err := h.Shutdown(context.Background()); err != nil {
		panic(err)
	}
}

// printTree prints what has ended. A shutdown would empty the exporter.
func printTree(h *lens.TelemetryHandle, exporter *tracetest.InMemoryExporter) {
	if err := h.ForceFlush(context.Background()); err != nil {
		panic(err)
	}
	spans := exporter.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	known := make(map[trace.SpanID]bool)
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	var below func(parent trace.SpanID, indent string)
	below = func(parent trace.SpanID, indent string) {
		for _, s := range spans {
			at := s.Parent.SpanID()
			if !known[at] { // a root, or the child of a span of another process
				at = trace.SpanID{}
			}
			if at != parent {
				continue
			}
			fmt.Println(indent + line(s))
			below(s.SpanContext.SpanID(), indent+"  ")
		}
	}
	below(trace.SpanID{}, "")
}

func line(s tracetest.SpanStub) string {
	var b strings.Builder
	b.WriteString(s.Name + join(s.Attributes))
	if s.Status.Code == codes.Error {
		b.WriteString(" ! " + s.Status.Description)
	}
	return b.String()
}

func join(attrs []attribute.KeyValue) string {
	var b strings.Builder
	for _, kv := range attrs {
		fmt.Fprintf(&b, " %s=%s", kv.Key, kv.Value.String())
	}
	return b.String()
}
