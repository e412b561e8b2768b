package provider

import (
	"context"
	"fmt"
	"reflect"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/errlog"
	"github.com/nemo-lens/lens/internal/outcome"
)

// foreign keeps what a processor of the program does wrong away from the
// program's spans: a panic is caught and said, and a call that does not come
// back is left alone when its context is done.
type foreign struct {
	sdktrace.SpanProcessor
	log *errlog.Log
}

// guarded wraps the processors and leaves out those that are nil.
func guarded(processors []sdktrace.SpanProcessor, log *errlog.Log) []sdktrace.SpanProcessor {
	var out []sdktrace.SpanProcessor
	for _, p := range processors {
		v := reflect.ValueOf(p)
		if !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
			log.Warn("nil span processor", fmt.Sprintf("lens: a span processor given to WithSpanProcessor is nil (%T) and was left out", p))
			continue
		}
		out = append(out, foreign{p, log})
	}
	return out
}

func (f foreign) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	defer f.caught("OnStart")
	f.SpanProcessor.OnStart(parent, s)
}

func (f foreign) OnEnd(s sdktrace.ReadOnlySpan) {
	defer f.caught("OnEnd")
	f.SpanProcessor.OnEnd(s)
}

func (f foreign) ForceFlush(ctx context.Context) error {
	return f.call(ctx, "ForceFlush", f.SpanProcessor.ForceFlush)
}

func (f foreign) Shutdown(ctx context.Context) error {
	return f.call(ctx, "Shutdown", f.SpanProcessor.Shutdown)
}

func (f foreign) call(ctx context.Context, method string, do func(context.Context) error) error {
	err, _ := outcome.Call(ctx, f.name(method), func() error { return do(ctx) })
	if err != nil {
		f.log.Warn("span processor error", outcome.Text(err))
	}
	return err
}

func (f foreign) name(method string) string {
	return fmt.Sprintf("%s of the span processor %T", method, f.SpanProcessor)
}

func (f foreign) caught(method string) {
	if r := recover(); r != nil {
		f.log.Warn("span processor panic", fmt.Sprintf("lens: %s panicked: %s", f.name(method), errlog.Scrub(fmt.Sprint(r))))
	}
}
