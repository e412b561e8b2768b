//go:build !lens_noop

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/internal/otlptest"
)

// A process that is configured by its environment alone sends its spans to a real
// OTLP/gRPC receiver over a real socket. They must all be there, correctly nested,
// when the process has ended.
func TestSpansArriveAtAnOTLPReceiver(t *testing.T) {
	t.Parallel()
	for _, test := range groupCases {
		t.Run(test.spec, func(t *testing.T) {
			t.Parallel()
			srv := otlptest.Start(t)
			code, stdout, stderr := child(t, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_SPAN_GROUPS=" + test.spec,
				"OTEL_SERVICE_NAME=training-test",
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + srv.GRPCURL()})
			require.Equal(t, exitOK, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, " 0 lost (0 dropped, 0 failed)")
			assert.NotContains(t, stderr, "telemetry is incomplete")

			total := 0
			for _, n := range test.want {
				total += n
			}
			// No wait: the program ended after everything was delivered.
			arrived := srv.Spans()
			require.Len(t, arrived, total)
			var spans []received
			for _, s := range arrived {
				parent := ""
				if s.ParentSpanID.IsValid() {
					parent = s.ParentSpanID.String()
				}
				spans = append(spans, received{
					name: s.Name, trace: s.TraceID.String(), id: s.SpanID.String(), parent: parent,
					start: s.Start, end: s.End,
				})
				assert.False(t, s.End.Before(s.Start))
				assert.Equal(t, "training-test", s.Resource["service.name"])
			}
			checkSpans(t, test.want, spans)
			checkTable(t, test.want, stderr)
			metrics := map[string]otlptest.Metric{}
			for _, m := range srv.Metrics() {
				metrics[m.Name] = m
				assert.Equal(t, arrived[0].Resource, m.Resource, m.Name)
			}
			for _, name := range []string{"train.step_duration_ms", "train.loss", "train.grad_norm", "train.learning_rate"} {
				assert.Contains(t, metrics, name)
			}
			if m, ok := metrics["train.step_duration_ms"]; ok {
				assert.EqualValues(t, 280, m.Points[0].Count, "one sample a step")
			}
			assert.NotContains(t, metrics, "train.tokens_per_second", "nothing given, nothing recorded")
			for _, r := range srv.Requests() {
				assert.Equal(t, otlptest.GRPC, r.Protocol)
			}
		})
	}
}

// With nobody listening the model is trained all the same, and the loss is logged.
func TestTrainingSurvivesAnAbsentCollector(t *testing.T) {
	t.Parallel()
	code, _, stderr := child(t, []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_METRICS_ENABLED=0",
		"NEMO_LENS_SHUTDOWN_TIMEOUT=" + (500 * time.Millisecond).String(),
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + otlptest.ClosedAddr(t)})
	assert.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "accuracy")
	assert.Contains(t, stderr, "telemetry is incomplete")
	assert.Contains(t, stderr, "10 started, 0 exported, 10 lost")
}
