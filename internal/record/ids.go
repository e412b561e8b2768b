package record

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity"
)

// newIDs makes the ids of a span. Without a generator of the application they are
// random, from a source that takes no lock.
func (p *Provider) newIDs(ctx context.Context, in trace.TraceID) (trace.TraceID, trace.SpanID) {
	if p.ids != nil {
		return p.askForIDs(ctx, in)
	}
	if in.IsValid() {
		return in, identity.RandomSpanID()
	}
	return identity.RandomIDs()
}

func (p *Provider) askForIDs(ctx context.Context, in trace.TraceID) (t trace.TraceID, s trace.SpanID) {
	t = in
	defer func() {
		r := recover()
		if r == nil && t.IsValid() && s.IsValid() {
			return
		}
		p.fault(IDFault, func() string {
			if r != nil {
				return "the id generator panicked: " + textOf(r)
			}
			return "the id generator gave an id that is all zero"
		})
		if !t.IsValid() {
			t = identity.RandomTraceID()
		}
		if !s.IsValid() {
			s = identity.RandomSpanID()
		}
	}()
	if in.IsValid() {
		s = p.ids.NewSpanID(ctx, in)
	} else {
		t, s = p.ids.NewIDs(ctx)
	}
	return t, s
}
