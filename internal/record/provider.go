package record

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/nemo-lens/lens/internal/report"
)

// base is where the monotonic clock is read from.
var base = time.Now()

// defaultScope is the scope of a tracer without a name, as the SDK has it.
const defaultScope = "go.opentelemetry.io/otel/sdk/tracer"

// Provider makes tracers and knows their open spans.
type Provider struct {
	embedded.TracerProvider

	resource   *resource.Resource
	sampler    sdktrace.Sampler
	rule       rule
	ids        sdktrace.IDGenerator
	limits     limits
	sink       func(*Span)
	scoped     func(context.Context) []attribute.KeyValue
	watcher    Watcher
	clock      func() time.Time
	wall       wallClock
	onFault    func(Fault, string)
	common     common
	processors atomic.Pointer[processors] // nil: none

	open openTable

	mu      sync.Mutex
	tracers map[instrumentation.Scope]*Tracer
	down    atomic.Bool

	faults [faults]atomic.Uint64
}

var _ trace.TracerProvider = (*Provider)(nil)

// New returns a provider. It cannot fail and starts no goroutine.
func New(s Settings) *Provider {
	p := &Provider{
		resource: s.Resource, sampler: s.Sampler, ids: s.IDs, limits: newLimits(s.Limits),
		sink: s.Sink, scoped: s.Scoped, watcher: s.Watcher, clock: s.clock, onFault: s.OnFault,
		tracers: make(map[instrumentation.Scope]*Tracer),
	}
	if p.resource == nil {
		p.resource = resource.Empty()
	}
	if isNil(p.sampler) {
		p.sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	if isNil(p.ids) {
		p.ids = nil
	}
	p.rule = ruleOf(p.sampler)
	p.common.provider = p
	p.wall.from.Store(-wallLasts)
	p.open.init(s.OpenLimit, s.OnOpenLimit)
	p.processors.Store(newProcessors(p, s.Processors))
	return p
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// Tracer returns the tracer of a scope; one that does nothing after Shutdown.
func (p *Provider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if p.down.Load() {
		return noop.NewTracerProvider().Tracer(name, opts...)
	}
	c := trace.NewTracerConfig(opts...)
	if name == "" {
		name = defaultScope
	}
	attrs := c.InstrumentationAttributes()
	if fitted := p.limits.fitAll(attrs.ToSlice()); len(fitted) > 0 {
		attrs = attribute.NewSet(fitted...)
	}
	return p.tracer(instrumentation.Scope{Name: name, Version: c.InstrumentationVersion(), SchemaURL: c.SchemaURL(), Attributes: attrs})
}

// Scope returns the tracer of a scope that is no more than a name, after Shutdown
// too.
func (p *Provider) Scope(name string) *Tracer { return p.tracer(instrumentation.Scope{Name: name}) }

func (p *Provider) tracer(scope instrumentation.Scope) *Tracer {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tracers[scope]
	if t == nil {
		t = &Tracer{provider: p, scope: scope}
		t.origin.tracer = t
		p.tracers[scope] = t
	}
	return t
}

func (p *Provider) now() time.Time {
	if p.clock != nil {
		return p.clock()
	}
	return time.Now()
}

// wallClock is what has to be added to the monotonic clock for the wall clock. It
// changes only when somebody sets that, so it is looked up anew from time to time and
// the start of a span reads one clock and not two.
type wallClock struct {
	from, offset atomic.Int64 // when offset was looked up; nanoseconds
	looking      atomic.Bool
}

const (
	wallLasts    = int64(10 * time.Millisecond)
	wallAccuracy = int64(2 * time.Microsecond)
)

// times is now: in Unix nanoseconds, and on the monotonic clock.
func (p *Provider) times() (wall, tick int64) {
	if p.clock != nil {
		now := p.clock()
		return now.UnixNano(), int64(now.Sub(base))
	}
	tick = int64(time.Since(base))
	if uint64(tick-p.wall.from.Load()) < uint64(wallLasts) {
		return tick + p.wall.offset.Load(), tick
	}
	return p.wall.lookUp(tick)
}

func (w *wallClock) lookUp(before int64) (wall, tick int64) {
	now := time.Now()
	wall, tick = now.UnixNano(), int64(now.Sub(base))
	// Now reads two clocks, and the thread may have been interrupted between them.
	if int64(time.Since(base))-before <= wallAccuracy && w.looking.CompareAndSwap(false, true) {
		w.offset.Store(wall - tick)
		w.from.Store(tick)
		w.looking.Store(false)
	}
	return wall, tick
}

// tick is now on the monotonic clock.
func (p *Provider) tick() int64 {
	if p.clock != nil {
		return int64(p.clock().Sub(base))
	}
	return int64(time.Since(base))
}

// ForceFlush flushes the processors. The sink is its owner's to flush.
func (p *Provider) ForceFlush(ctx context.Context) error {
	ps := p.processors.Load()
	if ps == nil {
		return nil
	}
	var errs []error
	for i := range ps.all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, ps.all[i].flush(ctx))
	}
	return errors.Join(errs...)
}

// Shutdown shuts the processors down, in their order. It leaves open spans alone:
// [Provider.CloseAll] before it ends them. A tracer that was taken before goes on
// making spans, which no processor sees. Later calls do nothing.
func (p *Provider) Shutdown(ctx context.Context) error {
	if !p.down.CompareAndSwap(false, true) {
		return nil
	}
	ps := p.processors.Load()
	if ps == nil {
		return nil
	}
	defer p.processors.Store(nil)
	var errs []error
	for i := range ps.all {
		if ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		errs = append(errs, ps.all[i].shutdown(ctx))
	}
	return errors.Join(errs...)
}

// Faults returns how often f happened.
func (p *Provider) Faults(f Fault) uint64 { return p.faults[f].Load() }

func (p *Provider) fault(f Fault, text func() string) {
	if p.faults[f].Add(1) == 1 && p.onFault != nil {
		p.onFault(f, report.Scrub(text()))
	}
}
