//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/record"
)

func TestSpansOfTheRecorder(t *testing.T) {
	r := open(t, Options{Redact: func(key string) bool { return key == "prompt" }})
	p := record.New(record.Settings{Limits: sdktrace.NewSpanLimits(), Watcher: r})
	tracer := p.Tracer("test")
	ctx, outer := tracer.Start(t.Context(), "outer")
	outer.SetAttributes(attribute.Int("dl.iteration", 1), attribute.String("prompt", "secret"))
	outer.SetAttributes(attribute.Int("dl.iteration", 2))
	_, inner := tracer.Start(ctx, "inner")
	f := readBack(t, r)
	require.Len(t, f.Open, 2)
	assert.Equal(t, "outer", f.Open[0].Name)
	assert.Equal(t, []attribute.KeyValue{attribute.Int("dl.iteration", 2), attribute.String("prompt", "[REDACTED]")}, f.Open[0].Attributes)
	assert.Equal(t, outer.SpanContext().SpanID(), f.Open[1].ParentID)
	assert.Equal(t, inner.SpanContext().TraceID(), f.Open[1].TraceID)

	inner.SetStatus(codes.Error, "")
	inner.End()
	f = readBack(t, r)
	require.Len(t, f.Open, 1)
	require.Len(t, f.Ended, 1)
	assert.Equal(t, codes.Error, f.Ended[0].Status)
	assert.False(t, f.Ended[0].End.Before(f.Ended[0].Start))
}

// With and without the file, in one run.
func BenchmarkRecordedSpan(b *testing.B) {
	for name, watcher := range map[string]record.Watcher{"without": nil, "with": open(b, Options{})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			tracer := record.New(record.Settings{Limits: sdktrace.NewSpanLimits(), Watcher: watcher}).Tracer("bench")
			ctx := context.Background()
			before := cpu()
			for i := 0; b.Loop(); i++ {
				_, s := tracer.Start(ctx, "train.step")
				s.SetAttributes(attribute.Int("dl.iteration", i), attribute.String("phase", "warm-up"))
				s.End()
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
