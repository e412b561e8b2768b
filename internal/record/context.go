package record

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// spanKey is the key under which the trace API looks for a span in a context,
// and nil if asking it did not tell.
var spanKey = learnKey()

func learnKey() any {
	noted := keyNote{Context: context.Background()}
	trace.SpanFromContext(&noted)
	return noted.key
}

type keyNote struct {
	context.Context
	key any
}

func (n *keyNote) Value(key any) any {
	n.key = key
	return nil
}

// spanContext is the context of a started span. It is an object of its own, not
// a part of the span, because it holds the caller's context and the span must not.
type spanContext struct {
	context.Context
	span *Span
}

func (c *spanContext) Value(key any) any {
	if key == spanKey {
		return c.span
	}
	return c.Context.Value(key)
}

// String is what package context shows of a context that holds this one.
func (c *spanContext) String() string { return fmt.Sprint(c.Context) + ".WithSpan" }

func withSpan(ctx context.Context, s *Span) context.Context {
	if spanKey == nil {
		return trace.ContextWithSpan(ctx, s)
	}
	c := &spanContext{ctx, s}
	s.carrier = c
	return c
}

// Context returns the context that the span was started in, and the background
// once it has ended.
func (s *Span) Context() context.Context {
	ctx := context.Background()
	if s.change() {
		if s.carrier != nil {
			ctx = s.carrier.Context
		}
		s.mu.Unlock()
	}
	return ctx
}

// parent is the span context of a parent, in parts, because a whole one is costly
// to copy.
type parent struct {
	traceID trace.TraceID
	spanID  trace.SpanID
	flags   trace.TraceFlags
	remote  bool
	state   trace.TraceState
	local   *Span // if it is one of ours that records
}

func (p *parent) isValid() bool { return p.traceID.IsValid() && p.spanID.IsValid() }

func (p *parent) spanContext() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: p.traceID, SpanID: p.spanID, TraceFlags: p.flags, Remote: p.remote, TraceState: p.state,
	})
}

func (p *parent) set(sc trace.SpanContext) {
	p.traceID, p.spanID, p.flags, p.remote, p.state = sc.TraceID(), sc.SpanID(), sc.TraceFlags(), sc.IsRemote(), sc.TraceState()
}

func (p *parent) setSpan(s *Span) {
	p.traceID, p.spanID, p.flags, p.state, p.local = s.traceID, s.spanID, s.flags, s.TraceState(), s
}

// parentOf finds the parent in ctx. It reports false for a context that cannot
// be asked, which samplers had better not see.
func (p *Provider) parentOf(ctx context.Context, found *parent) bool {
	switch c := ctx.(type) {
	case *spanContext:
		found.setSpan(c.span)
		return true
	case *passing:
		found.set(c.sc)
		return true
	}
	if ctx == context.Background() {
		return true
	}
	return p.askForParent(ctx, found)
}

// With more than crowded look-ups under way in a shard, one asks its own stack
// whether they are nested, because a context's Value starts a span below itself.
// That goes on without end, so nestedAt of them are enough.
const (
	crowded  = 32
	nestedAt = 16
)

func (p *Provider) askForParent(ctx context.Context, found *parent) (ok bool) {
	before := p.faults[ContextFault].Load()
	inside := &p.open.here().lookups
	defer inside.Add(-1)
	if inside.Add(1) > crowded && isNested() {
		p.endless(ctx)
		return false
	}
	defer func() {
		if r := recover(); r != nil {
			*found, ok = parent{}, false
			p.fault(ContextFault, func() string { return fmt.Sprintf("Value of a context (%T) panicked: %s", ctx, textOf(r)) })
		}
	}()
	switch s := trace.SpanFromContext(ctx).(type) {
	case *Span:
		if s != nil {
			found.setSpan(s)
		}
	case *passing:
		found.set(s.sc)
	default:
		found.set(s.SpanContext())
	}
	// One that starts spans to answer is asked no second time: at every level of
	// what it started that would double the number of spans.
	return p.faults[ContextFault].Load() == before
}

func (p *Provider) endless(ctx context.Context) {
	p.fault(ContextFault, func() string { return fmt.Sprintf("Value of a context (%T) starts spans without end", ctx) })
}

func isNested() bool {
	pcs := make([]uintptr, 512)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for n, more := 0, true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, ".(*Provider).askForParent") {
			if n++; n == nestedAt {
				return true
			}
		}
	}
	return false
}
