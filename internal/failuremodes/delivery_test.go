//go:build !lens_noop && unix

package failuremodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

func TestB2InvalidUTF8CostsNoSpan(t *testing.T) {
	const bad, mended = "a\xffb", "a\uFFFDb"
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "env="+bad)
			cfg := config(to(protocol, urlOf(s, protocol)), allSignals)
			cfg.ServiceName, cfg.User, cfg.RunID = bad, bad, bad
			tm := setUp(t, cfg, lens.WithResourceAttributes(attribute.String("res"+bad, bad)))

			ctx, span := lens.ManagedSpan(context.Background(), lens.Step, "name"+bad, attribute.String("key"+bad, bad),
				attribute.StringSlice("slice", []string{"ok", bad}))
			span.AddEvent("event"+bad, trace.WithAttributes(attribute.String("key"+bad, bad)))
			span.AddLink(trace.Link{
				SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}),
				Attributes:  []attribute.KeyValue{attribute.String("key", bad)},
			})
			span.SetStatus(otelcodes.Error, bad)
			err := fmt.Errorf("cannot read %s", bad)
			lens.End(span, &err)
			makeSpans(9)
			_, foreign := lens.GroupTracerProvider(lens.Step).Tracer("scope"+bad, trace.WithInstrumentationVersion(bad),
				trace.WithInstrumentationAttributes(attribute.String("key", bad))).Start(ctx, "foreign")
			foreign.End()

			counter, err := tm.MeterProvider().Meter("scope"+bad).Int64Counter("good", metric.WithDescription(bad), metric.WithUnit("{"+bad+"}"))
			require.NoError(t, err)
			counter.Add(ctx, 1, metric.WithAttributes(attribute.String("key"+bad, bad)))
			var r otellog.Record
			r.SetBody(attribute.StringValue(bad))
			r.SetSeverityText(bad)
			r.AddAttributes(attribute.String("key"+bad, bad))
			tm.LoggerProvider().Logger("scope"+bad).Emit(ctx, r)

			require.NoError(t, tm.Shutdown(context.Background()))
			spans := s.Spans()
			require.Len(t, spans, 11)
			require.Equal(t, 1, s.Count(otlptest.Logs))
			require.NotZero(t, s.Count(otlptest.Metrics))
			for _, span := range spans {
				require.Equal(t, mended, span.Resource["service.name"])
				require.Equal(t, mended, span.Resource["res"+mended])
				require.Equal(t, mended, span.Resource["nemo.user.id"])
				require.Equal(t, mended, span.Resource["env"])
			}
			for _, span := range spans {
				switch span.Name {
				case "name" + mended:
					require.Equal(t, mended, span.Attributes["key"+mended])
					require.Len(t, span.Events, 2)
					require.Equal(t, mended, span.Events[0].Attributes["key"+mended])
					require.Equal(t, "cannot read "+mended, span.Events[1].Attributes["exception.message"])
					require.Len(t, span.Links, 1)
					require.Equal(t, "cannot read "+mended, span.StatusMessage)
				case "foreign":
					require.Equal(t, "scope"+mended, span.Scope.Name)
				default:
					require.Equal(t, "step", span.Name)
				}
			}
			require.Equal(t, mended, s.Logs()[0].Body)
			requireBalance(t, tm.Stats(), 11)
		})
	}
}

func TestB3LargeBatchesArrive(t *testing.T) {
	const mib = 1 << 20
	text := func(n int) attribute.KeyValue { return attribute.String("completion", strings.Repeat("x", n)) }
	for _, protocol := range protocols {
		t.Run("500 spans of 10 kB "+protocol, func(t *testing.T) {
			s := otlptest.Start(t, otlptest.WithMaxRequestBytes(4*mib))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(10*time.Second)))
			for range 500 {
				_, span := lens.ManagedSpan(context.Background(), lens.Step, "step", text(10_000))
				lens.End(span, nil)
			}
			require.NoError(t, tm.Shutdown(context.Background()))
			require.Equal(t, 500, s.Count(otlptest.Traces))
		})
		t.Run("a lower limit of the receiver "+protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			s.SetFault(otlptest.MaxRequestBytes(200_000))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(10*time.Second)))
			for i := range 100 {
				_, span := lens.ManagedSpan(context.Background(), lens.Step, "step", text(1000))
				if i == 50 { // each text within the limit of one
					for j := range 20 {
						span.SetAttributes(attribute.String(fmt.Sprint("part", j), strings.Repeat("x", 15_000)))
					}
				}
				lens.End(span, nil)
			}
			require.ErrorContains(t, tm.Shutdown(context.Background()), "1 of 100 spans lost")
			require.Equal(t, 99, s.Count(otlptest.Traces))
			requireBalance(t, tm.Stats(), 100)
		})
		t.Run("one span of 5 MiB "+protocol, func(t *testing.T) {
			s := otlptest.Start(t, otlptest.WithMaxRequestBytes(4*mib))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(10*time.Second)))
			for i := range 500 {
				_, span := lens.ManagedSpan(context.Background(), lens.Step, "step", text(10))
				if i == 250 {
					for j := range 110 {
						span.SetAttributes(attribute.String(fmt.Sprint("part", j), strings.Repeat("😀", 12_000)))
					}
				}
				lens.End(span, nil)
			}
			require.ErrorContains(t, tm.Shutdown(context.Background()), "1 of 500 spans lost")
			require.Equal(t, 499, s.Count(otlptest.Traces))
			requireBalance(t, tm.Stats(), 500)
		})
	}
}

func TestB5DeadCollector(t *testing.T) {
	for _, protocol := range protocols {
		t.Run("new spans arrive when it is back "+protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), func(c *lens.Config) { c.BatchDelay = 20 * time.Millisecond }))
			makeSpans(1)
			require.NoError(t, tm.ForceFlush(context.Background()))
			s.Stop()
			makeSpans(5)
			require.Eventually(t, func() bool { return tm.Stats().Queued == 5 }, limit, time.Millisecond)
			s.Restart(t)
			_, span := lens.ManagedSpan(context.Background(), lens.Step, "new")
			lens.End(span, nil)
			s.WaitFor(t, limit, "new span delivered", func(s *otlptest.Server) bool { return namesOf(s.Spans())["new"] == 1 })
			require.NoError(t, tm.Shutdown(context.Background()))
			requireBalance(t, tm.Stats(), 7)
			require.EqualValues(t, 7, tm.Stats().Exported, "the spans of a short outage wait for its end")
		})
		t.Run("retries end "+protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			s.SetFault(otlptest.Reject(codes.Unavailable, 503))
			tm, err := fromEnv(t, variables("OTEL_EXPORTER_OTLP_PROTOCOL", protocol, "OTEL_EXPORTER_OTLP_ENDPOINT", urlOf(s, protocol),
				"OTEL_EXPORTER_OTLP_TIMEOUT", "300", "NEMO_LENS_BATCH_DELAY", "10"))
			require.NoError(t, err)
			makeSpans(4)
			require.Eventually(t, func() bool { return tm.Stats().Failed == 4 }, limit, time.Millisecond)
			requireBalance(t, tm.Stats(), 4)
		})
		t.Run("the time that the receiver asks for is kept "+protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			pause := 300 * time.Millisecond
			if protocol == httpProtocol {
				pause = time.Second // whole seconds only
			}
			s.SetFault(otlptest.Throttle(pause).Times(1))
			tm := setUp(t, config(to(protocol, urlOf(s, protocol)), within(10*time.Second)))
			makeSpans(4)
			require.NoError(t, tm.ForceFlush(context.Background()))
			requests := s.Requests()
			require.Len(t, requests, 2)
			require.GreaterOrEqual(t, requests[1].Received.Sub(requests[0].Received), pause*9/10)
			require.Equal(t, 4, s.Count(otlptest.Traces))
		})
	}
}

func TestB6ManyAttributes(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), func(c *lens.Config) { c.RunID = "run-7" }))
	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
	for i := range 200 {
		span.SetAttributes(attribute.Int(fmt.Sprint("attribute", i), i))
	}
	lens.End(span, nil)
	require.NoError(t, tm.Shutdown(context.Background()))
	got := s.Spans()[0]
	require.Equal(t, "run-7", got.Resource["nemo.run.id"])
	require.Contains(t, got.Resource, "dl.rank")
	require.EqualValues(t, 200-len(got.Attributes), got.DroppedAttributes)
	require.NotZero(t, got.DroppedAttributes)
	require.Contains(t, tm.log.String(), "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT")
}

func TestB7HugeTextIsCut(t *testing.T) {
	s := otlptest.Start(t)
	tm := setUp(t, config(to(grpcProtocol, s.GRPCURL()), within(10*time.Second)))
	huge := strings.Repeat("ü", 50<<20) // 100 MB
	_, span := lens.ManagedSpan(context.Background(), lens.Step, "step", attribute.String("completion", huge),
		attribute.StringSlice("slice", []string{huge}))
	span.AddEvent("event", trace.WithAttributes(attribute.String("text", huge)))
	span.SetStatus(otelcodes.Error, huge)
	lens.End(span, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, tm.Shutdown(context.Background()))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20), "the text was copied before it was cut")
	got := s.Spans()[0]
	for what, text := range map[string]string{
		"attribute": got.Attributes["completion"].(string), "event": got.Events[0].Attributes["text"].(string),
		"status": got.StatusMessage, "slice": got.Attributes["slice"].([]any)[0].(string),
	} {
		require.True(t, utf8.ValidString(text), what)
		require.True(t, strings.HasPrefix(huge, text), what)
		require.LessOrEqual(t, utf8.RuneCountInString(text), 64<<10, what)
		require.NotEmpty(t, text, what)
	}
}

func TestB8NumbersThatAreNotFinite(t *testing.T) {
	values := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "minus": math.Inf(-1)}
	lossy := func(t *testing.T, tm telemetry) {
		_, span := lens.ManagedSpan(context.Background(), lens.Step, "step")
		for key, v := range values {
			span.SetAttributes(attribute.Float64(key, v), attribute.Float64Slice(key+"s", []float64{1, v}))
		}
		span.AddEvent("loss", trace.WithAttributes(attribute.Float64("value", math.NaN())))
		lens.End(span, nil)
		makeSpans(2)
		require.NoError(t, tm.Shutdown(context.Background()))
		require.EqualValues(t, 3, tm.Stats().Exported)
	}
	t.Run("console", func(t *testing.T) {
		var out bytes.Buffer
		lossy(t, setUp(t, config(func(c *lens.Config) { c.Exporter = "console" }), lens.WithConsoleWriter(&out)))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 3)
		for _, line := range lines {
			require.True(t, json.Valid([]byte(line)), line)
		}
		require.Contains(t, lines[0], `"NaN"`)
		require.Contains(t, lines[0], `"Infinity"`)
		require.Contains(t, lines[0], `"-Infinity"`)
	})
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			s := otlptest.Start(t)
			lossy(t, setUp(t, config(to(protocol, urlOf(s, protocol)))))
			for _, span := range s.Spans() {
				if len(span.Attributes) > 0 {
					require.True(t, math.IsNaN(span.Attributes["nan"].(float64)))
					require.Equal(t, math.Inf(-1), span.Attributes["minus"])
				}
			}
		})
	}
}
