package record

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// DefaultOpenLimit is the number of open spans that are tracked when
// [Settings.OpenLimit] is 0.
const DefaultOpenLimit = 1 << 16

// Settings is everything that a provider is made from; nothing else is read.
type Settings struct {
	Resource *resource.Resource // as it is: nothing is merged into it. nil: empty
	Sampler  sdktrace.Sampler   // nil: parent-based, always on
	IDs      sdktrace.IDGenerator
	// Limits are taken as they are, as sdktrace.WithRawSpanLimits does: 0 is none
	// allowed, less is no limit. A depth of 0 is the SDK's default.
	Limits sdktrace.SpanLimits

	// Processors are called in this order, at the start and at the end of a span,
	// before Sink. Those that are nil are left out.
	Processors []sdktrace.SpanProcessor
	// Sink gets every sampled span once, on the goroutine that ends it. It must
	// not wait, and it has to count what it does not want: it is called after
	// [Provider.Shutdown], too. nil: spans go to the processors only.
	Sink func(*Span)

	// Scoped returns the attributes that every span below ctx gets unless it has
	// the key already. Samplers see them. nil: none.
	Scoped func(ctx context.Context) []attribute.KeyValue

	// OpenLimit is the number of open spans that are tracked at a time, 0 is
	// [DefaultOpenLimit]. Tracking begins to have gaps a few per cent below it.
	OpenLimit int
	// OnOpenLimit is called once, when the first span is not tracked, on the
	// goroutine that starts it, with no lock held.
	OnOpenLimit func(limit int)

	// Watcher is told of every recorded span. nil: nobody is.
	Watcher Watcher

	// OnFault is told of the first fault of each kind. The text has no secrets.
	OnFault func(f Fault, text string)

	clock func() time.Time // nil: the real one
}

// Watcher follows the open spans, tracked or not. Its methods are called on the
// goroutine that uses the span, must not wait, and never run at the same time for
// one span.
type Watcher interface {
	// SpanOpened is called when the span has the attributes of its start, before
	// anybody else has the span, whose Name would take a lock for nothing. The other
	// methods get what it returns.
	SpanOpened(s *Span, name string) (slot int32)
	// SpanSet is called with what SetAttributes has set, once or several times, which
	// must not be kept. The span is locked then: only what never changes may be read,
	// such as its ids.
	SpanSet(s *Span, slot int32, attrs []attribute.KeyValue)
	// SpanClosed is called once, after the span has ended.
	SpanClosed(s *Span, slot int32)
}

// Fault is a kind of trouble with code of the application.
type Fault int

// The faults, each with what becomes of the span.
const (
	// SamplerFault: the sampler panicked. The span is sampled as its parent is; one without a parent is.
	SamplerFault Fault = iota
	// IDFault: the id generator panicked or gave an invalid id. The span gets random ones.
	IDFault
	// ContextFault: the context panicked in Value, or started a span there without
	// end. The span has no parent.
	ContextFault
	// ProcessorFault: a processor panicked.
	ProcessorFault
	// HookFault: Scoped, Sink or Watcher panicked.
	HookFault

	faults
)

func (f Fault) String() string {
	return [...]string{"sampler", "id generator", "context", "span processor", "recorder hook"}[f]
}
