package record

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/queue/outcome"
)

// processors are those of the application, kept away from the application's spans: a
// panic is caught and said, and a flush or shutdown that does not come back is
// left alone when its context is done.
type processors struct{ all []guarded }

type guarded struct {
	sdktrace.SpanProcessor
	provider *Provider
}

func newProcessors(p *Provider, all []sdktrace.SpanProcessor) *processors {
	ps := &processors{}
	for _, sp := range all {
		if isNil(sp) {
			p.fault(ProcessorFault, func() string { return fmt.Sprintf("a span processor is nil (%T) and was left out", sp) })
			continue
		}
		ps.all = append(ps.all, guarded{sp, p})
	}
	if len(ps.all) == 0 {
		return nil
	}
	return ps
}

func (ps *processors) onStart(ctx context.Context, s *Span) {
	for i := range ps.all {
		ps.all[i].onStart(ctx, s)
	}
}

func (ps *processors) onEnd(s *Span) {
	for i := range ps.all {
		ps.all[i].onEnd(s)
	}
}

func (g *guarded) onStart(ctx context.Context, s *Span) {
	defer g.caught("OnStart")
	g.OnStart(ctx, s)
}

func (g *guarded) onEnd(s *Span) {
	defer g.caught("OnEnd")
	g.OnEnd(s)
}

func (g *guarded) caught(method string) {
	if r := recover(); r != nil {
		g.provider.fault(ProcessorFault, func() string { return fmt.Sprintf("%s panicked: %s", g.name(method), textOf(r)) })
	}
}

func (g *guarded) name(method string) string {
	return fmt.Sprintf("%s of the span processor %T", method, g.SpanProcessor)
}

func (g *guarded) flush(ctx context.Context) error {
	return g.call(ctx, "ForceFlush", g.ForceFlush)
}

func (g *guarded) shutdown(ctx context.Context) error {
	return g.call(ctx, "Shutdown", g.Shutdown)
}

func (g *guarded) call(ctx context.Context, method string, do func(context.Context) error) error {
	err, _ := outcome.Call(ctx, g.name(method), func() error { return do(ctx) })
	return err
}

// The hooks are lens's own code and guarded all the same, because a program does
// not end for want of a span.

func (p *Provider) scopedOf(ctx context.Context) []attribute.KeyValue {
	defer p.caughtHook("Scoped")
	return p.scoped(ctx)
}

func (p *Provider) opened(s *Span, name string) {
	defer p.caughtHook("SpanOpened")
	s.slot = p.watcher.SpanOpened(s, name)
}

func (p *Provider) wasSet(s *Span, attrs []attribute.KeyValue) {
	defer p.caughtHook("SpanSet")
	p.watcher.SpanSet(s, s.slot, attrs)
}

func (p *Provider) closed(s *Span) {
	defer p.caughtHook("SpanClosed")
	p.watcher.SpanClosed(s, s.slot)
}

func (p *Provider) give(s *Span) {
	defer p.caughtHook("Sink")
	p.sink(s)
}

func (p *Provider) caughtHook(what string) {
	if r := recover(); r != nil {
		p.fault(HookFault, func() string { return what + " panicked: " + textOf(r) })
	}
}
