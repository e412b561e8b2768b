//go:build !lens_noop

package lens

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/report"
)

func TestVectorsAttributeFilter(t *testing.T) {
	var suite struct {
		Cases []struct {
			Attributes  map[string]any
			RedactKeys  *[]string `json:"redact_keys"`
			Expect      [][2]any
			LensDiffers string `json:"lens_differs"`
		}
	}
	vectors(t, "attribute_filter_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	rec, h := recordSpans(t, "job")
	for i, c := range suite.Cases {
		_, span := h.Tracer().Start(context.Background(), "x")
		var keys []string
		if c.RedactKeys != nil {
			keys = append([]string{}, *c.RedactKeys...)
		}
		SafeSetSpanAttributes(span, c.Attributes, keys...)
		span.End()
		got := map[string]any{}
		for _, kv := range rec.Ended()[i].Attributes() {
			got[string(kv.Key)] = kv.Value.AsInterface()
			if texts, ok := got[string(kv.Key)].([]string); ok {
				members := []any{}
				for _, s := range texts {
					members = append(members, s)
				}
				got[string(kv.Key)] = members
			}
		}
		want := map[string]any{}
		if c.LensDiffers == "" {
			for _, kv := range c.Expect {
				want[kv[0].(string)] = kv[1]
			}
		}
		require.Equal(t, want, got, "case %d", i)
	}
	SafeSetSpanAttributes(nil, map[string]any{"a": 1})
}

func TestVectorsSpanOutcomes(t *testing.T) {
	var suite struct {
		Cases []struct {
			Name, Raised string
			Spans        []struct {
				Name, Scope, Status string
				Description         *string
				Attributes          map[string]any
				Events              [][2]any
				HasParent           bool `json:"has_parent"`
			}
		}
	}
	vectors(t, "span_outcomes_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			rec, _ := recordSpans(t, "job")
			message := "boom"
			if strings.Contains(c.Name, "empty message") {
				message = ""
			}
			var raised error
			switch c.Raised {
			case "error":
				raised = errors.New(message)
			case "interrupt":
				raised = context.Canceled
			}
			got := outcomeOf(t, c.Name, raised)
			require.Equal(t, raised, got)
			spans := rec.Ended()
			require.Len(t, spans, len(c.Spans))
			for i, want := range c.Spans {
				s := spans[i]
				require.Equal(t, want.Name, s.Name())
				require.Equal(t, want.Scope, s.InstrumentationScope().Name)
				require.Equal(t, want.HasParent, s.Parent().IsValid())
				require.Len(t, s.Events(), len(want.Events))
				require.Len(t, s.Attributes(), len(want.Attributes))
				switch want.Status {
				case "UNSET":
					require.Equal(t, codes.Unset, s.Status().Code)
				case "ERROR":
					// The bare message, with every primitive.
					require.Equal(t, sdktrace.Status{Code: codes.Error, Description: message}, s.Status())
					require.Equal(t, "exception", s.Events()[0].Name)
				default:
					t.Fatalf("status %q", want.Status)
				}
			}
		})
	}
}

func outcomeOf(t *testing.T, name string, raised error) error {
	ctx := context.Background()
	kind, what, _ := strings.Cut(name, " ")
	switch {
	case name == "nested around a disabled span":
		ctx, outer := ManagedSpan(ctx, Job, "outer")
		off, middle := ManagedSpan(ctx, Step, "middle")
		_, inner := ManagedSpan(off, Job, "inner")
		End(inner, nil)
		End(middle, nil)
		End(outer, nil)
		return nil
	case kind == "managed_span":
		group := Job
		var attrs []attribute.KeyValue
		if strings.HasPrefix(what, "disabled") {
			group = Step
		}
		if what == "attributes" {
			attrs = []attribute.KeyValue{attribute.Int("iteration", 1), attribute.String("password", "x"), attribute.StringSlice("tags", []string{"a", "b"})}
		}
		return func() (err error) {
			_, span := ManagedSpan(ctx, group, "n", attrs...)
			defer End(span, &err)
			return raised
		}()
	case kind == "span_cm":
		return func() (err error) {
			_, span := SpanCM(ctx, "n")
			defer End(span, &err)
			return raised
		}()
	case kind == "trace_fn":
		_, err := TraceFn(Job, "n", func(context.Context, int) (int, error) { return 0, raised })(ctx, 1)
		return err
	}
	t.Fatalf("the case %q is not known", name)
	return nil
}

func TestVectorsStrategyRegistry(t *testing.T) {
	var suite struct {
		Builtins []string
		Steps    []struct {
			Op     string
			Name   string
			Error  bool
			Expect []string
		}
	}
	vectors(t, "strategy_registry_v020", &suite)
	require.NotEmpty(t, suite.Steps)
	require.Equal(t, suite.Builtins, RegisteredExportStrategies())
	yes := func(Config, int, int) (bool, error) { return true, nil }
	for i, s := range suite.Steps {
		var err error
		switch s.Op {
		case "names":
			require.Equal(t, s.Expect, RegisteredExportStrategies(), "step %d", i)
		case "register":
			err = RegisterExportStrategy(s.Name, yes)
		case "register+override":
			require.NoError(t, UnregisterExportStrategy(s.Name))
			err = RegisterExportStrategy(s.Name, yes)
		case "unregister":
			err = UnregisterExportStrategy(s.Name)
		case "lookup":
			c := DefaultConfig()
			c.ExportStrategy = s.Name
			err = c.Validate()
		default:
			t.Fatalf("the operation %q is not known", s.Op)
		}
		require.Equal(t, s.Error, err != nil, "step %d: %v", i, err)
	}
}

func TestVectorsConfigDirect(t *testing.T) {
	var suite struct {
		Cases []struct {
			Rate  any `json:"export_sample_rate"`
			Error bool
		}
	}
	vectors(t, "config_direct_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	for _, c := range suite.Cases {
		cfg := DefaultConfig()
		switch rate := c.Rate.(type) {
		case float64:
			cfg.ExportSampleRate = rate
		case string:
			cfg.ExportSampleRate = map[string]float64{"inf": math.Inf(1), "nan": math.NaN()}[rate]
		}
		require.Equal(t, c.Error, cfg.Validate() != nil, "%v", c.Rate)
	}
}

// registryState is what the reference's sequences show after every step.
type registryState struct {
	Groups, Namespaces []string
	Presets            map[string][]string
	Enabled, Pending   []string
}

func stateOf(r *GroupRegistry) registryState {
	s := registryState{
		Groups: groupNames(r.Groups()), Namespaces: r.Namespaces(), Presets: map[string][]string{},
		Enabled: groupNames(EnabledSpanGroups()), Pending: PendingSpanGroups(),
	}
	for name, members := range r.Presets() {
		s.Presets[name] = groupNames(members)
	}
	return s
}

func TestVectorsRegistrySequences(t *testing.T) {
	var suite struct {
		Sequences []struct {
			Name  string
			Steps []struct {
				Op, Namespace, Spec string
				Groups              []SpanGroup
				Presets             map[string][]SpanGroup
				AllowOverride       bool     `json:"allow_override"`
				ExpectEnabled       []string `json:"expect_enabled"`
				ExpectPending       []string `json:"expect_pending"`
				Error               bool
				Warnings            []struct{ Kind string }
				After               registryState
			}
		}
	}
	vectors(t, "span_registry_nightly", &suite)
	require.NotEmpty(t, suite.Sequences)
	compared := 0
	for _, sequence := range suite.Sequences {
		t.Run(sequence.Name, func(t *testing.T) {
			r := new(GroupRegistry)
			useEmpty(t, r)
			var text bytes.Buffer
			for i, s := range sequence.Steps {
				text.Reset()
				log, restore := captureLog(&text)
				var err error
				switch s.Op {
				case "register":
					var c *GroupClass
					if c, err = NewGroupClass(s.Namespace, s.Groups, s.Presets); err == nil {
						if s.AllowOverride {
							r.Replace(c)
						} else {
							err = r.Register(c)
						}
					} else if !s.Error {
						// Names are checked when a class is built, and a preset
						// names only groups of its own class: what follows in
						// the sequence has another registry under it.
						restore()
						return
					}
				case "unregister":
					err = r.Unregister(s.Namespace)
				case "resolve":
					set, resolveErr := r.Resolve(s.Spec)
					var unknown *UnknownGroupError
					pending := []string{}
					if errors.As(resolveErr, &unknown) {
						pending = unknown.Unknown
					}
					require.ElementsMatch(t, s.ExpectEnabled, groupNames(set), "step %d", i)
					require.ElementsMatch(t, s.ExpectPending, pending, "step %d", i)
				case "set_spec":
					err = SetSpanGroupSpec(s.Spec)
				default:
					t.Fatalf("the operation %q is not known", s.Op)
				}
				restore()
				log.Flush()
				require.Equal(t, s.Error, err != nil, "step %d: %v", i, err)
				if len(s.Warnings) == 0 {
					require.Empty(t, text.String(), "step %d", i)
				} else {
					require.NotEmpty(t, text.String(), "step %d", i)
				}
				got, want := stateOf(r), s.After
				require.ElementsMatch(t, want.Groups, got.Groups, "step %d", i)
				require.ElementsMatch(t, want.Namespaces, got.Namespaces, "step %d", i)
				require.ElementsMatch(t, want.Enabled, got.Enabled, "step %d", i)
				require.ElementsMatch(t, want.Pending, got.Pending, "step %d", i)
				require.Equal(t, slices.Sorted(maps.Keys(want.Presets)), slices.Sorted(maps.Keys(got.Presets)), "step %d", i)
				for name := range want.Presets {
					require.ElementsMatch(t, want.Presets[name], got.Presets[name], "step %d, preset %s", i, name)
				}
				compared++
			}
		})
	}
	require.Greater(t, compared, 40)
}

// captureLog sends lens's log to w until restore is called.
func captureLog(w io.Writer) (l *report.Log, restore func()) {
	l = report.New(slog.New(slog.NewTextHandler(w, nil)))
	before := published.Load()
	now := *before
	now.log = l
	published.Store(&now)
	return l, func() { published.Store(before) }
}

// useEmpty makes r the vocabulary, with no stored spec, for one test.
func useEmpty(t *testing.T, r *GroupRegistry) {
	t.Helper()
	require.NoError(t, useGroups(r, "", false))
	t.Cleanup(func() {
		leaveGroups()
	})
}

func TestVectorsSetupFlow(t *testing.T) {
	var suite struct {
		Cases []struct {
			Name   string
			Env    map[string]string
			Expect map[string]any
		}
	}
	vectors(t, "setup_flow_v020", &suite)
	require.NotEmpty(t, suite.Cases)
	quiet := WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	for _, c := range suite.Cases {
		t.Run(c.Name, func(t *testing.T) {
			for k, v := range c.Env {
				t.Setenv(k, v)
			}
			cfg := DefaultConfig()
			cfg.Enabled, cfg.Exporter = true, exporterConsole
			opts := []Option{quiet, WithConsoleWriter(io.Discard)}
			switch c.Name {
			case "disabled":
				cfg.Enabled = false
			case "unknown strategy, disabled":
				cfg.Enabled, cfg.ExportStrategy = false, "nope"
			case "bad span-group spec on exporting rank":
				cfg.SpanGroups = "nope"
			case "bad span-group spec, disabled":
				cfg.Enabled, cfg.SpanGroups = false, "nope"
			case "all signals off, unknown exporter name":
				cfg.TracesEnabled, cfg.MetricsEnabled, cfg.Exporter = false, false, "nope"
			case "unknown exporter, custom span exporter only":
				cfg.Exporter = "nope"
				opts = append(opts, WithSpanExporter(tracetest.NewInMemoryExporter()))
			case "unknown exporter":
				cfg.Exporter = "Console"
			case "run_id explicit beats SLURM":
				cfg.RunID = "keep"
			case "per-call strategy override":
				cfg.ExportStrategy = "nope"
				opts = append(opts, WithExportStrategy(func(Config, int, int) (bool, error) { return true, nil }))
			}
			h, err := SetupTelemetry(context.Background(), cfg, opts...)
			t.Cleanup(func() { _ = h.Shutdown(context.Background()) })
			switch c.Name {
			case "unknown strategy, disabled": // not looked at, because nothing depends on it
				require.NoError(t, err)
				return
			case "bad span-group spec on exporting rank", "all signals off, unknown exporter name":
				// Refused before anything is built.
				require.Error(t, err)
				require.Nil(t, published.Load().recording)
				return
			}
			if want, stated := c.Expect["error"]; stated {
				require.Equal(t, want == true, err != nil, "%v", err)
				return
			}
			require.NoError(t, err)
			if c.Name == "double init" {
				_, err := SetupTelemetry(context.Background(), cfg, opts...)
				require.ErrorIs(t, err, ErrAlreadySetUp)
				disabled := cfg
				disabled.Enabled = false
				_, err = SetupTelemetry(context.Background(), disabled, opts...)
				require.NoError(t, err)
				require.True(t, IsSpanGroupEnabled(Job), "a disabled set-up changed the running one")
				again, err := SetupTelemetry(context.Background(), cfg, append(opts, WithAllowReinit())...)
				require.NoError(t, err)
				require.NoError(t, again.Shutdown(context.Background()))
			}
			for what, want := range c.Expect {
				switch what {
				case "is_exporting":
					if c.Name == "OTEL_SDK_DISABLED" {
						want = false // no signal is exported, so lens does not claim it
					}
					require.Equal(t, want, h.IsExporting())
				case "recording":
					_, span := h.Tracer().Start(context.Background(), "x")
					require.Equal(t, want, span.IsRecording())
					span.End()
				case "initialized":
					require.Equal(t, want, Current() == h)
				case "tracer_provider":
					require.Equal(t, want == "sdk", otel.GetTracerProvider() == providers.Tracers)
				case "job_enabled":
					require.Equal(t, want, IsSpanGroupEnabled(Job))
				case "step_enabled":
					require.Equal(t, want, IsSpanGroupEnabled(Step))
				case "run_id":
					require.Equal(t, want, h.RunID())
				case "fields":
					fields := otel.GetTextMapPropagator().Fields()
					slices.Sort(fields)
					require.Equal(t, []string{"baggage", "traceparent", "tracestate"}, fields)
				case "second", "disabled_second", "reinit": // above, in this order
				case "sampler":
					requireSampler(t, h.Tracer(), want.(string))
				default:
					t.Fatalf("the expectation %q is not known", what)
				}
			}
		})
	}
}

// requireSampler tells the samplers of the vectors by what they do.
func requireSampler(t *testing.T, tracer trace.Tracer, want string) {
	t.Helper()
	share := func(ctx context.Context) float64 {
		const spans = 4000
		sampled := 0
		for range spans {
			_, span := tracer.Start(ctx, "x")
			if span.SpanContext().IsSampled() {
				sampled++
			}
			span.End()
		}
		return float64(sampled) / spans
	}
	roots := share(context.Background())
	switch want {
	case "ParentBased":
		require.InDelta(t, 1, roots, 0)
		require.InDelta(t, 0, share(trace.ContextWithRemoteSpanContext(context.Background(),
			trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))), 0)
	case "TraceIdRatioBased{0.1}":
		require.InDelta(t, 0.1, roots, 0.05) // ten standard deviations
	default:
		t.Fatalf("the sampler %q is not known", want)
	}
}
