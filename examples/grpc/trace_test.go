//go:build !lens_noop

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/nemo-lens/lens/internal/otlptest"
)

const call = "grpc.health.v1.Health/Check"

func on(srv *otlptest.Server, spec string) []string {
	return []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_SPAN_GROUPS=" + spec, "OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.GRPCURL()}
}

// tree shows spans with the process that each is from.
func tree(spans []otlptest.Span) string {
	return otlptest.TreeFunc(spans, func(s otlptest.Span) string {
		return fmt.Sprintf("%s (%s, %s)", s.Name, s.Kind, s.Resource["service.name"])
	})
}

// intact asserts that otelgrpc has left the client's own span alone.
func intact(t *testing.T, spans []otlptest.Span) {
	t.Helper()
	for _, job := range otlptest.Named(spans, spanJob) {
		assert.Empty(t, job.Attributes)
		for _, s := range spans {
			if s.TraceID == job.TraceID {
				assert.False(t, s.End.After(job.End), "%s ends after the job around it", s.Name)
			}
		}
	}
}

// Two real processes, a real call: one trace, whatever groups are on where.
func TestOneTraceAcrossTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, client, server, want string }{
		{"all on", "default", "default", `
client.job (internal, grpc-client)
└─ grpc.health.v1.Health/Check (client, grpc-client)
   └─ grpc.health.v1.Health/Check (server, grpc-server)
      └─ health.lookup (internal, grpc-server)
`},
		{"client off", "job", "default", `
client.job (internal, grpc-client)
└─ grpc.health.v1.Health/Check (server, grpc-server)
   └─ health.lookup (internal, grpc-server)
`},
		{"server off", "default", "lookup", `
client.job (internal, grpc-client)
└─ grpc.health.v1.Health/Check (client, grpc-client)
   └─ health.lookup (internal, grpc-server)
`},
		{"both off", "job", "lookup", `
client.job (internal, grpc-client)
└─ health.lookup (internal, grpc-server)
`},
		{"the calls alone", "rpc_client", "rpc_server", `
grpc.health.v1.Health/Check (client, grpc-client)
└─ grpc.health.v1.Health/Check (server, grpc-server)
`},
		{"nothing on the server", "default", "evaluate", `
client.job (internal, grpc-client)
└─ grpc.health.v1.Health/Check (client, grpc-client)
`},
		{"nothing at all", "evaluate", "evaluate", "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := otlptest.Start(t)
			s := startServerProcess(t, on(srv, test.server)...)
			code, _, stderr := program(t, on(srv, test.client), "check", "-addr="+s.addr)
			require.Equal(t, exitOK, code, stderr)
			s.stop()
			spans := srv.Spans() // no wait: both have ended
			assert.Equal(t, test.want, "\n"+tree(spans))
			for _, span := range spans {
				assert.Equal(t, spans[0].TraceID, span.TraceID)
			}
			intact(t, spans)
		})
	}
}

// The server's group changes while it runs, and the next call shows it.
func TestLiveSwitch(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	s := startServerProcess(t, on(srv, "default")...)
	var want []string
	for _, step := range []struct{ command, answer, want string }{
		{"", "", "client, server, internal"},
		{"groups lookup", " lookup", "client, internal"},
		{"groups rpc_server", " rpc_server", "client, server"},
		{"groups evaluate", " evaluate", "client"},
		{"groups rpc_server,lookup", " lookup,rpc_server", "client, server, internal"},
	} {
		if step.command != "" {
			s.say(step.command)
			assert.Equal(t, step.answer, s.line("groups:"))
		}
		code, _, stderr := program(t, on(srv, "rpc_client"), "check", "-addr="+s.addr)
		require.Equal(t, exitOK, code, stderr)
		want = append(want, step.want)
	}
	s.say("groups rpc_sever")
	assert.Contains(t, s.line("grpc: "), "rpc_server")
	s.stop()

	// One trace for each call, in the order of the calls.
	spans := srv.Spans()
	slices.SortStableFunc(spans, func(a, b otlptest.Span) int { return a.Start.Compare(b.Start) })
	var order []trace.TraceID
	kinds := map[trace.TraceID][]string{}
	for _, span := range spans {
		if kinds[span.TraceID] == nil {
			order = append(order, span.TraceID)
		}
		kinds[span.TraceID] = append(kinds[span.TraceID], span.Kind.String())
	}
	var got []string
	for _, id := range order {
		got = append(got, strings.Join(kinds[id], ", "))
	}
	assert.Equal(t, want, got)
}

// What other languages and later versions of the recommendation send is
// understood: the trace goes on, and the sampled bit counts.
func TestTraceparentOfOthers(t *testing.T) {
	t.Parallel()
	const parent = "00f067aa0ba902b7"
	id := func(n int) string { return fmt.Sprintf("%032x", n+1) }
	cases := []struct {
		format  string // with the trace id and the parent
		adopted bool
		sampled bool
	}{
		{"00-%s-%s-01", true, true},
		{"00-%s-%s-03", true, true}, // the random flag of level 2
		{"00-%s-%s-09", true, true}, // flags nobody knows yet
		{"00-%s-%s-ff", true, true},
		{"cc-%s-%s-01", true, true}, // a future version
		{"cc-%s-%s-01-what-the-future-will-be-like", true, true},
		{"01-%s-%s-fd-x", true, true},
		{" 00-%s-%s-01 ", true, true},
		{"00-%s-%s-00", true, false},
		{"00-%s-%s-fe", true, false},
		{"ff-%s-%s-01", false, true}, // forbidden
		{"00-%s-%s-01-x", false, true},
		{"00-%s-%s-1", false, true},
	}
	srv := otlptest.Start(t)
	s := startServerProcess(t, on(srv, "rpc_server,lookup")...)
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	strangers := 0
	for n, c := range cases {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", fmt.Sprintf(c.format, id(n), parent), "tracestate", "py=1")
		_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		require.NoError(t, err, c.format)
		if !c.adopted {
			strangers++
		}
	}
	s.stop()

	byTrace := map[string][]otlptest.Span{}
	for _, span := range srv.Spans() {
		byTrace[span.TraceID.String()] = append(byTrace[span.TraceID.String()], span)
	}
	adopted := 0
	for n, c := range cases {
		spans := byTrace[id(n)]
		if !c.adopted || !c.sampled {
			assert.Empty(t, spans, c.format)
			continue
		}
		adopted++
		require.Len(t, spans, 2, c.format)
		incoming := otlptest.One(t, spans, call)
		assert.Equal(t, parent, incoming.ParentSpanID.String(), c.format)
		assert.Equal(t, "py=1", incoming.TraceState)
		assert.True(t, otlptest.One(t, spans, "health.lookup").IsChildOf(incoming))
	}
	assert.Len(t, byTrace, adopted+strangers, "what cannot be adopted begins a trace of its own")
}

// Nobody can tell which of several parents is the true one.
func TestFieldD8SeveralTraceparents(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	s := startServerProcess(t, on(srv, "rpc_server")...)
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	const first, second = "0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319d"
	ctx := metadata.AppendToOutgoingContext(t.Context(),
		"traceparent", "00-"+first+"-00f067aa0ba902b7-01", "traceparent", "00-"+second+"-00f067aa0ba902b7-01")
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	s.stop()

	incoming := otlptest.One(t, srv.Spans(), call)
	assert.False(t, incoming.ParentSpanID.IsValid())
	assert.NotContains(t, []string{first, second}, incoming.TraceID.String())
}

// The status of the call is on the spans: an error for the client, while to the
// server a service that it does not know is no fault of its own.
func TestFailedCall(t *testing.T) {
	t.Parallel()
	srv := otlptest.Start(t)
	s := startServerProcess(t, on(srv, "default")...)
	code, _, stderr := program(t, on(srv, "default"), "check", "-addr="+s.addr, "-service=nobody")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "NotFound")
	s.stop()
	spans := srv.Spans()
	require.Len(t, spans, 4)
	status := map[string]codes.Code{}
	for _, span := range spans {
		status[span.Name+" "+span.Kind.String()] = span.StatusCode
	}
	assert.Equal(t, map[string]codes.Code{
		spanJob + " internal": codes.Error, call + " client": codes.Error,
		call + " server": codes.Unset, "health.lookup internal": codes.Error,
	}, status)
}

// The demonstration writes the spans of both processes to one standard output.
func TestBothProcessesOnTheConsole(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console"})
	require.Equal(t, exitOK, code, stderr)
	traces, names := map[string]int{}, map[string]int{}
	for line := range strings.Lines(stdout) {
		var span struct {
			Name        string
			SpanContext struct{ TraceID string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &span), "one JSON object: %s", line)
		traces[span.SpanContext.TraceID]++
		names[span.Name]++
	}
	assert.Equal(t, map[string]int{spanJob: 1, call: 2, "health.lookup": 1}, names)
	assert.Len(t, traces, 1)
	for id := range traces {
		assert.Contains(t, stderr, "trace "+id)
	}
}
