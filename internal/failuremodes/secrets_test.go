//go:build !lens_noop && unix

package failuremodes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

const secret = "hunter2"

func TestC11SecretsOfAConnection(t *testing.T) {
	for what, fault := range map[string]otlptest.Fault{
		"401":     otlptest.Reject(codes.Unauthenticated, 401).WithBody("the key " + secret + " is not valid"),
		"404":     otlptest.Reject(codes.Unimplemented, 404).WithBody(secret),
		"413":     otlptest.Reject(codes.ResourceExhausted, 413).WithBody("too large: " + secret),
		"500":     otlptest.Reject(codes.Internal, 500).WithBody("panic: token=" + secret),
		"503":     otlptest.Reject(codes.Unavailable, 503).WithBody("connection error: desc = transport: " + secret),
		"partial": otlptest.PartialSuccess(1, "span of tenant "+secret),
		"warning": otlptest.PartialSuccess(0, secret),
		"reset":   otlptest.ResetConnection(),
	} {
		for _, protocol := range protocols {
			t.Run(what+" "+protocol, func(t *testing.T) {
				s := otlptest.Start(t)
				s.SetFault(fault)
				cfg := config(to(protocol, urlOf(s, protocol)), allSignals, within(60*time.Millisecond), func(c *lens.Config) {
					c.Headers = "x-api-key=" + secret + ",authorization=Bearer%20" + secret
				})
				tm := setUp(t, cfg)
				makeSpans(2)
				measure(t, tm)
				emit(tm, "hello")
				flush := tm.ForceFlush(context.Background())
				otel.Handle(fmt.Errorf("reported by a library: %w", errors.Join(flush)))
				shutdown := tm.Shutdown(context.Background())
				for where, text := range map[string]string{
					"flush": fmt.Sprintf("%v %+v", flush, flush), "shutdown": fmt.Sprintf("%v %+v %q", shutdown, shutdown, shutdown),
					"log": tm.log.String(), "endpoint": tm.Endpoint(),
					"config": fmt.Sprintf("%v %+v %#v %s %q", cfg, cfg, cfg, cfg, cfg),
					"stats":  fmt.Sprintf("%+v", tm.Stats()),
				} {
					require.NotContains(t, text, secret, where)
				}
				requireNotSent(t, s)
			})
		}
	}
}

// requireNotSent checks that the secret is in nothing that the receiver took.
func requireNotSent(t *testing.T, s *otlptest.Server) {
	t.Helper()
	for _, span := range s.Spans() {
		require.NotContains(t, prototext.Format(span.Proto), secret)
		require.NotContains(t, fmt.Sprint(span.Resource), secret)
	}
	for _, m := range s.Metrics() {
		require.NotContains(t, prototext.Format(m.Proto), secret)
		require.NotContains(t, fmt.Sprint(m.Resource), secret)
	}
	for _, r := range s.Logs() {
		require.NotContains(t, prototext.Format(r.Proto), secret)
		require.NotContains(t, fmt.Sprint(r.Resource), secret)
	}
}

func TestC11SecretsOfAConfiguration(t *testing.T) {
	s := otlptest.Start(t)
	for _, c := range []struct{ variable, text string }{
		{"OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer " + secret},
		{"OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=" + secret + "%zz"},
		{"OTEL_EXPORTER_OTLP_HEADERS", secret},
		{"OTEL_EXPORTER_OTLP_HEADERS", "x api key=" + secret + ",,=" + secret},
		{"OTEL_EXPORTER_OTLP_HEADERS", "x-key=" + secret + "\n" + secret},
		{"NEMO_LENS_HEADERS", "Authorization: Bearer " + secret},
		{"NEMO_LENS_HEADERS", "x-api-key=" + secret + "%zz"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:" + secret + "@127.0.0.1:4317"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "user:" + secret + "@127.0.0.1:4317"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:p%zz" + secret + "@127.0.0.1:4317"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317/?key=" + secret},
		{"NEMO_LENS_ENDPOINT", "http://user:" + secret + "@127.0.0.1:4317"},
		{"NEMO_LENS_ENDPOINT", "http://user:" + secret + "/@127.0.0.1:4317"},
		{"NEMO_LENS_ENDPOINT", "https://" + secret + "@127.0.0.1"},
	} {
		t.Run(c.variable+" "+c.text, func(t *testing.T) {
			vars := variables(c.variable, c.text, "NEMO_LENS_METRICS_ENABLED", "1")
			if strings.HasSuffix(c.variable, "HEADERS") {
				vars["OTEL_EXPORTER_OTLP_ENDPOINT"] = s.GRPCURL()
			}
			var tm telemetry
			var err error
			out := captured(t, &os.Stderr, func() {
				tm, err = fromEnv(t, vars)
				makeSpans(1)
				err = errors.Join(err, tm.Shutdown(context.Background()))
			})
			require.NotContains(t, fmt.Sprintf("%v %+v", err, err), secret)
			require.NotContains(t, out, secret)
			cfg, _ := lens.FromEnv("", "", nil)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), secret)
			require.NotContains(t, tm.Endpoint(), secret)
			if tm.log != nil {
				require.NotContains(t, tm.log.String(), secret)
			}
			requireNotSent(t, s)
		})
	}
}

var argvSecret = program("F3", func() {
	h := mustSetUp()
	makeSpans(1)
	emit(telemetry{TelemetryHandle: h}, "hello")
	check(h.Shutdown(context.Background()), 80)
})

func TestF3ArgumentsAndEnvironmentStayHere(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			p := newChild(t, argvSecret, exportTo(protocol, urlOf(s, protocol), "NEMO_LENS_METRICS_ENABLED=1", "NEMO_LENS_LOGS_ENABLED=1",
				"NEMO_LENS_RUNTIME_METRICS=1", "API_KEY="+secret, "WANDB_API_KEY="+secret, "HF_TOKEN="+secret)...)
			p.Args = append(p.Args, "--api-key="+secret)
			p.start(t)
			require.Zero(t, p.status(t), &p.stderr)
			require.Equal(t, 1, s.Count(otlptest.Traces))
			require.Equal(t, 1, s.Count(otlptest.Logs))
			require.NotZero(t, s.Count(otlptest.Metrics))
			requireNotSent(t, s)
			require.NotContains(t, p.stderr.String(), secret)
		})
	}
}

func TestF5WhatComesIn(t *testing.T) {
	setUp(t, config(func(c *lens.Config) { c.Exporter = "none" }))
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for what, c := range map[string]struct{ key, value string }{
		"odd tracestate":      {"tracestate", "not a list;;,=,\x00"},
		"oversize tracestate": {"tracestate", strings.Repeat("k=v,", 50_000)},
		"odd baggage":         {"baggage", "\xff=;;,,=%zz"},
		"oversize baggage":    {"baggage", strings.Repeat("user=alice,", 20_000)},
		"many in baggage":     {"baggage", manyMembers(1000)},
	} {
		t.Run(what, func(t *testing.T) {
			ctx := lens.ExtractContext(context.Background(), map[string]string{"traceparent": parent, c.key: c.value})
			out := map[string]string{}
			lens.InjectContext(ctx, out)
			require.Equal(t, parent, out["traceparent"], "the parent is kept")
			require.Empty(t, out["tracestate"])
			require.LessOrEqual(t, len(out["baggage"]), 8192)
			require.LessOrEqual(t, len(strings.Join(lens.InjectEnv(ctx, nil), "")), 8192+200)
		})
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=v,", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestC11AConfigIsSafeInEveryLog(t *testing.T) {
	cfg := config(func(c *lens.Config) {
		c.Headers, c.Endpoint = "x-api-key="+secret, "http://user:"+secret+"@host:4317"
	})
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("set up", "config", cfg, "pointer", &cfg, "list", []lens.Config{cfg})
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", cfg)
		fmt.Fprintf(&out, verb+"\n", &cfg)
		fmt.Fprintf(&out, verb+"\n", []lens.Config{cfg})
	}
	text, err := json.Marshal(cfg)
	require.NoError(t, err)
	out.Write(text)
	require.NotContains(t, out.String(), secret)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", secret))
}
