package instruments_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/instruments"
)

func TestInferenceDefaults(t *testing.T) {
	t.Parallel()
	s := newSDK(t)
	recordAll(s.meter)
	got := s.collect()
	durations := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokens := []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	const base = "gen_ai.operation.name=text_completion,gen_ai.provider.name=nemo"
	for name, want := range map[string][]point{
		"gen_ai.server.request.duration":   {{base, 1.5, 1, durations}},
		"gen_ai.client.operation.duration": {{base, 1.6, 1, durations}},
		"gen_ai.server.time_to_first_token": {{base, 0.03, 1,
			[]float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}}},
		"gen_ai.server.time_per_output_token": {{base, 0.02, 1,
			[]float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}}},
		"gen_ai.client.token.usage": {
			{base + ",gen_ai.token.type=input", 10, 1, tokens},
			{base + ",gen_ai.token.type=output", 200, 1, tokens},
		},
	} {
		assert.Equal(t, want, points(got[name]), name)
	}
}

func TestInferenceAttributes(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	inf := instruments.NewInference(s.meter, instruments.WithAttributes(
		attribute.String("server.address", "gpu7"), attribute.String("gen_ai.provider.name", "the call decides")))
	for range 2 {
		inf.Record(ctx, instruments.InferenceValues{
			RequestDuration: instruments.Duration(ms), TimeToFirstToken: instruments.Duration(ms), OperationDuration: instruments.Duration(ms),
			InputTokens: instruments.Int(1), Model: "llama", Provider: "openai", Operation: "chat", ErrorType: "timeout",
		})
	}
	inf.Record(ctx, instruments.InferenceValues{RequestDuration: instruments.Duration(ms)})
	got := s.collect()
	const tail = "gen_ai.operation.name=chat,gen_ai.provider.name=openai,gen_ai.request.model=llama"
	const server = ",server.address=gpu7"
	request := points(got["gen_ai.server.request.duration"])
	require.Len(t, request, 2)
	assert.Equal(t, "error.type=timeout,"+tail+server, request[0].attrs)
	assert.Equal(t, uint64(2), request[0].count)
	assert.Equal(t, "gen_ai.operation.name=text_completion,gen_ai.provider.name=nemo"+server, request[1].attrs)
	for name, attrs := range map[string]string{
		"gen_ai.client.operation.duration":  "error.type=timeout," + tail + server,
		"gen_ai.server.time_to_first_token": tail + server,
		"gen_ai.client.token.usage":         tail + ",gen_ai.token.type=input" + server,
	} {
		require.Len(t, points(got[name]), 1, name)
		assert.Equal(t, attrs, points(got[name])[0].attrs, name)
	}
}

// More models than keep their attributes ready are recorded all the same.
func TestInferenceManyModels(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), newSDK(t)
	inf := instruments.NewInference(s.meter)
	for range 2 {
		for i := range 600 {
			inf.Record(ctx, instruments.InferenceValues{InputTokens: instruments.Int(i), Model: fmt.Sprint("m", i)})
		}
	}
	got := points(s.collect()["gen_ai.client.token.usage"])
	require.Len(t, got, 600)
	for _, p := range got {
		assert.Equal(t, uint64(2), p.count, p.attrs)
	}
}
