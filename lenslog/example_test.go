package lenslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/lenslog"
)

// inSpan returns a context with a span, as lens.ManagedSpan does.
func inSpan() context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab, 15: 1}, SpanID: trace.SpanID{0xcd, 7: 2}, TraceFlags: trace.FlagsSampled}))
}

// withoutTime makes the output the same each time.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func ExampleNewHandler() {
	mine := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	logger := slog.New(lenslog.NewHandler(mine, lenslog.WithRank(3)))

	logger.Info("starting")
	logger.WithGroup("train").InfoContext(inSpan(), "step done", "loss", 0.25)

	// Output:
	// level=INFO msg=starting rank=3
	// level=INFO msg="step done" rank=3 train.loss=0.25 trace_id=ab000000000000000000000000000001 span_id=cd00000000000002
}

func ExampleTee() {
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(printing{})))
	defer func() { _ = provider.Shutdown(context.Background()) }()

	mine := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	handler := lenslog.Tee(lenslog.NewHandler(mine), provider, lenslog.WithLevel(slog.LevelWarn))
	handler = lenslog.Tee(handler, provider) // a second set-up changes nothing
	logger := slog.New(handler)

	logger.InfoContext(inSpan(), "step done")
	logger.WarnContext(inSpan(), "loss is NaN")

	// Output:
	// level=INFO msg="step done" trace_id=ab000000000000000000000000000001 span_id=cd00000000000002
	// level=WARN msg="loss is NaN" trace_id=ab000000000000000000000000000001 span_id=cd00000000000002
	// exported: WARN loss is NaN, trace ab000000000000000000000000000001
}

func ExampleNewExportHandler() {
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(printing{})))
	defer func() { _ = provider.Shutdown(context.Background()) }()

	logger := slog.New(lenslog.NewExportHandler(provider, lenslog.WithScope("trainer"), lenslog.WithScopes("example.com/trainer")))
	logger.Info("not from that package")

	logger = slog.New(lenslog.NewExportHandler(provider, lenslog.WithScope("trainer")))
	logger.InfoContext(inSpan(), "step done")

	// Output:
	// exported: INFO step done, trace ab000000000000000000000000000001
}

// printing is an exporter.
type printing struct{}

func (printing) Export(_ context.Context, records []sdklog.Record) error {
	for _, r := range records {
		fmt.Printf("exported: %s %s, trace %s\n", r.SeverityText(), r.Body().AsString(), r.TraceID())
	}
	return nil
}
func (printing) Shutdown(context.Context) error   { return nil }
func (printing) ForceFlush(context.Context) error { return nil }
