package openspans

import (
	"context"
	"fmt"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// pairs returns spans as OnStart and OnEnd get them.
func pairs(n int) (started []sdktrace.ReadWriteSpan, ended []sdktrace.ReadOnlySpan) {
	table := New()
	tracer, rec := pipeline(table)
	for range n {
		_, s := tracer.Start(context.Background(), "span")
		started = append(started, s.(sdktrace.ReadWriteSpan))
		s.End()
	}
	return started, rec.Ended()
}

func TestNoAllocations(t *testing.T) {
	started, ended := pairs(1024)
	table := New()
	for range 8 { // grow what grows
		for i := range started {
			table.OnStart(context.Background(), started[i])
		}
		for i := range ended {
			table.OnEnd(ended[i])
		}
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		table.OnStart(context.Background(), started[i%1024])
		table.SetGroup(started[i%1024].SpanContext().SpanID(), "group")
		table.OnEnd(ended[i%1024])
		i++
	}); n != 0 {
		t.Errorf("%v allocations per span", n)
	}
}

func BenchmarkStartEnd(b *testing.B) {
	started, ended := pairs(1024)
	for _, open := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			b.ReportAllocs()
			table := New()
			for i := range open {
				table.OnStart(context.Background(), started[i])
			}
			for i := 0; b.Loop(); i++ {
				table.OnEnd(ended[i%open])
				table.OnStart(context.Background(), started[i%open])
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		table := New()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			started, ended := pairs(16)
			for i := 0; pb.Next(); i++ {
				table.OnStart(context.Background(), started[i%16])
				table.OnEnd(ended[i%16])
			}
		})
	})
	b.Run("with group", func(b *testing.B) {
		b.ReportAllocs()
		table := New()
		for i := 0; b.Loop(); i++ {
			table.OnStart(context.Background(), started[i%1024])
			table.SetGroup(started[i%1024].SpanContext().SpanID(), "group")
			table.OnEnd(ended[i%1024])
		}
	})
}

// The whole span, with and without the table.
func BenchmarkSpan(b *testing.B) {
	for name, tracer := range map[string]trace.Tracer{
		"without": sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(nothing{})).Tracer("bench"),
		"with":    sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(nothing{}), sdktrace.WithSpanProcessor(New())).Tracer("bench"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, s := tracer.Start(context.Background(), "span")
				s.End()
			}
		})
	}
}

type nothing struct{ sdktrace.SpanProcessor }

func (nothing) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (nothing) OnEnd(sdktrace.ReadOnlySpan)                     {}
