package settings

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/settings/envtext"
)

func TestSampler(t *testing.T) {
	t.Parallel()
	def := sdktrace.ParentBased(sdktrace.AlwaysSample()).Description()
	for _, tt := range []struct {
		name, arg string
		want      string // description of the SDK's sampler
		warned    string // variable
	}{
		{"", "", def, ""},
		{"", "0.5", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"always_on", "", "AlwaysOnSampler", ""},
		{" Always_Off ", "", "AlwaysOffSampler", ""},
		{"traceidratio", "", "TraceIDRatioBased{1}", ""},
		{"traceidratio", "0.5", "TraceIDRatioBased{0.5}", ""},
		{"traceidratio", "0", "TraceIDRatioBased{0}", ""},
		{"traceidratio", "1", "TraceIDRatioBased{1}", ""},
		{"parentbased_always_on", "", def, ""},
		{"parentbased_always_off", "", sdktrace.ParentBased(sdktrace.NeverSample()).Description(), ""},
		{"parentbased_traceidratio", "0.25", sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.25)).Description(), ""},
		{"parentbased_traceidratio", "1e-3", sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.001)).Description(), ""},
		{"traceidratio", "-1", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "2", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "abc", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "NaN", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"traceidratio", "0x1p-2", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"parentbased_traceidratio", "50%", def, "OTEL_TRACES_SAMPLER_ARG"},
		{"nonsense", "", def, "OTEL_TRACES_SAMPLER"},
		{"jaeger_remote", "", def, "OTEL_TRACES_SAMPLER"},
	} {
		s, warnings := ParseSampler(env(map[string]string{"OTEL_TRACES_SAMPLER": tt.name, "OTEL_TRACES_SAMPLER_ARG": tt.arg}))
		if got := s.SDK().Description(); got != tt.want {
			t.Errorf("%q %q: got %s, want %s", tt.name, tt.arg, got, tt.want)
		}
		if s.IsSet != (tt.name != "" && tt.warned == "") {
			t.Errorf("%q %q: set is %v", tt.name, tt.arg, s.IsSet)
		}
		if tt.warned != "" {
			wantWarning(t, warnings, tt.warned+"=")
		} else {
			wantWarning(t, warnings)
		}
	}
	if got := (Sampler{}).SDK().Description(); got != def {
		t.Errorf("the zero sampler is %s", got)
	}
}

func TestPropagators(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		want   string
		warned bool
	}{
		{"", "[tracecontext baggage]", false},
		{"tracecontext", "[tracecontext]", false},
		{" Baggage , TraceContext,baggage", "[baggage tracecontext]", false},
		{"none", "[]", false},
		{"b3", "[tracecontext baggage]", true},
		{"b3,none", "[tracecontext baggage]", true},
		{"none,baggage", "[baggage]", true},
		{"tracecontext,jaeger", "[tracecontext]", true},
		{",", "[tracecontext baggage]", true},
	} {
		p, warnings := ParsePropagators(env(map[string]string{"OTEL_PROPAGATORS": tt.text}))
		if got := fmt.Sprint(p.Names); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.text, got, tt.want)
		}
		if tt.warned {
			wantWarning(t, warnings, "OTEL_PROPAGATORS", "tracecontext and baggage, or none")
		} else {
			wantWarning(t, warnings)
		}
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(context.Background(), sc)
	for text, want := range map[string]int{"": 1, "none": 0, "baggage": 0} {
		p, _ := ParsePropagators(env(map[string]string{"OTEL_PROPAGATORS": text}))
		carrier := propagation.MapCarrier{}
		p.TextMap().Inject(ctx, carrier)
		if len(carrier) != want {
			t.Errorf("%q: injected %v", text, carrier)
		}
	}
}

// C6, C7, C19: any text in any number gives a value within its limits.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		queue, batch, delay, timeout string
		want                         Batch
		warnings                     int
	}{
		{"", "", "", "", Batch{}, 0},
		{"100", "10", "500", "2000", Batch{100, 10, 500 * time.Millisecond, 2 * time.Second}, 0},
		{"0", "0", "0", "0", Batch{}, 4},
		{"-1", "-1", "-5", "-9", Batch{}, 4},
		{"abc", "1.5", "10s", "1e9", Batch{}, 4},
		{"99999999999999999999", "99999999999999999999", "99999999999999999999", "99999999999999999999",
			Batch{envtext.MaxQueueSize, envtext.MaxBatchSize, envtext.MaxBatchDelay, MaxTimeout}, 4},
		{"", "", "1", "1", Batch{0, 0, envtext.MinBatchDelay, MinTimeout}, 1},
		{"10", "100", "", "", Batch{MaxQueueSize: 10, MaxExportBatchSize: 10}, 1},
	} {
		for prefix, parse := range map[string]func(Lookup) (Batch, []Warning){"OTEL_BSP_": ParseBatch, "OTEL_BLRP_": ParseLogBatch} {
			got, warnings := parse(env(map[string]string{
				prefix + "MAX_QUEUE_SIZE": tt.queue, prefix + "MAX_EXPORT_BATCH_SIZE": tt.batch,
				prefix + "SCHEDULE_DELAY": tt.delay, prefix + "EXPORT_TIMEOUT": tt.timeout}))
			if got != tt.want || len(warnings) != tt.warnings {
				t.Errorf("%+v: got %+v, warnings %q", tt, got, warnings)
			}
		}
	}
}

func TestSpanLimits(t *testing.T) {
	t.Parallel()
	l, warnings := ParseSpanLimits(env(nil))
	want := sdktrace.SpanLimits{
		AttributeValueLengthLimit: 16384, AttributeValueDepthLimit: 64, AttributeCountLimit: 128, EventCountLimit: 128,
		LinkCountLimit: 128, AttributePerEventCountLimit: 128, AttributePerLinkCountLimit: 128,
	}
	if l != want {
		t.Errorf("got %+v", l)
	}
	wantWarning(t, warnings)

	l, warnings = ParseSpanLimits(env(map[string]string{
		"OTEL_ATTRIBUTE_COUNT_LIMIT": "7", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "8", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "9",
		"OTEL_SPAN_EVENT_COUNT_LIMIT": "0", "OTEL_SPAN_LINK_COUNT_LIMIT": "2",
		"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT": "3", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT": "4"}))
	want = sdktrace.SpanLimits{
		AttributeValueLengthLimit: 9, AttributeValueDepthLimit: 64, AttributeCountLimit: 7, EventCountLimit: 0,
		LinkCountLimit: 2, AttributePerEventCountLimit: 3, AttributePerLinkCountLimit: 4,
	}
	if l != want {
		t.Errorf("got %+v", l)
	}
	wantWarning(t, warnings)

	l, warnings = ParseSpanLimits(env(map[string]string{
		"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "-1", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "99999999999"}))
	if l.AttributeCountLimit != 128 || l.AttributeValueLengthLimit != MaxAttributeValueLength || len(warnings) != 2 {
		t.Errorf("got %+v, warnings %q", l, warnings)
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "otlp": "otlp", " Console ": "console", "none": "none", "zipkin": "", "otlp,console": ""} {
		for signal, name := range map[Signal]string{Traces: "OTEL_TRACES_EXPORTER", Metrics: "OTEL_METRICS_EXPORTER", Logs: "OTEL_LOGS_EXPORTER"} {
			got, warnings := ParseExporter(signal, env(map[string]string{name: text}))
			if got != want {
				t.Errorf("%s=%q: got %q", name, text, got)
			}
			if want == "" && text != "" {
				wantWarning(t, warnings, name, text, "otlp, console or none")
			} else {
				wantWarning(t, warnings)
			}
		}
	}
	for text, want := range map[string]bool{"true": true, "TRUE": true, " True ": true, "false": false, "": false, "1": false, "yes": false} {
		got, warnings := SDKDisabled(env(map[string]string{"OTEL_SDK_DISABLED": text}))
		if got != want {
			t.Errorf("%q: got %v", text, got)
		}
		if text == "1" || text == "yes" {
			wantWarning(t, warnings, "OTEL_SDK_DISABLED", text)
		} else {
			wantWarning(t, warnings)
		}
	}
	attrs, warnings := ResourceAttributes(env(map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "service.name=a,,b=%20c,bad"}))
	if len(attrs) != 2 || attrs[0].Value.AsString() != "a" || attrs[1].Value.AsString() != " c" || len(warnings) != 2 {
		t.Errorf("got %v, warnings %q", attrs, warnings)
	}
	wantWarning(t, warnings, "OTEL_RESOURCE_ATTRIBUTES", `"bad"`)
}

func TestMetricSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": DefaultMetricInterval, "60000": time.Minute, "1": MinMetricInterval, "0": DefaultMetricInterval, "x": DefaultMetricInterval,
		fmt.Sprint(int64(math.MaxInt64)): MaxMetricInterval,
	} {
		d, warnings := MetricInterval(env(map[string]string{"OTEL_METRIC_EXPORT_INTERVAL": text}))
		if d != want || (text != "" && text != "60000") != (len(warnings) == 1) {
			t.Errorf("%q: got %v, warnings %q", text, d, warnings)
		}
	}
	if d, _ := MetricTimeout(env(map[string]string{"OTEL_METRIC_EXPORT_TIMEOUT": "1500"})); d != 1500*time.Millisecond {
		t.Errorf("got %v", d)
	}
	kinds := []metric.InstrumentKind{
		metric.InstrumentKindCounter, metric.InstrumentKindUpDownCounter, metric.InstrumentKindHistogram, metric.InstrumentKindGauge,
		metric.InstrumentKindObservableCounter, metric.InstrumentKindObservableUpDownCounter, metric.InstrumentKindObservableGauge,
	}
	for text, want := range map[string]string{"": "CCCCCCC", "Delta": "DCDCDCC", "lowmemory": "DCDCCCC", "nonsense": "CCCCCCC"} {
		p, warnings := TemporalityPreference(env(map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": text}))
		got := ""
		for _, k := range kinds {
			if p.Selector()(k) == metricdata.DeltaTemporality {
				got += "D"
			} else {
				got += "C"
			}
		}
		if got != want || (text == "nonsense") != (len(warnings) == 1) {
			t.Errorf("%q: got %s, warnings %q", text, got, warnings)
		}
	}
	selector, warnings := HistogramAggregation(env(map[string]string{
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "base2_exponential_bucket_histogram"}))
	if _, ok := selector(metric.InstrumentKindHistogram).(metric.AggregationBase2ExponentialHistogram); !ok || len(warnings) > 0 {
		t.Errorf("got %T, warnings %q", selector(metric.InstrumentKindHistogram), warnings)
	}
	if _, ok := selector(metric.InstrumentKindCounter).(metric.AggregationSum); !ok {
		t.Errorf("got %T", selector(metric.InstrumentKindCounter))
	}
}
