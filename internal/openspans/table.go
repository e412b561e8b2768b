package openspans

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// DefaultLimit is the number of open spans that a table of [New] tracks.
const DefaultLimit = 1 << 16

// Table tracks open spans. Make one with [New] or [NewLimited]. Every method is
// safe for concurrent use.
type Table struct {
	shards [shardCount]shard

	limit  int
	onFull func(limit int)
	full   atomic.Bool

	closing atomic.Bool
	closed  chan struct{} // all that CloseAll will do is done
}

var _ sdktrace.SpanProcessor = (*Table)(nil)

// New returns a table that tracks [DefaultLimit] spans.
func New() *Table { return NewLimited(0, nil) }

// NewLimited returns a table that never tracks more than limit spans at a time,
// rounded up to a multiple of 64; 0 and less mean [DefaultLimit]. The limit holds
// for each of 64 shards, over which spans are spread by their id, so that tracking
// begins to have gaps a few per cent below it.
//
// onFull, if not nil, is called once in the life of the table, when the first span
// is not tracked: on the goroutine that starts that span, with no lock held. It
// may start spans.
func NewLimited(limit int, onFull func(limit int)) *Table {
	if limit <= 0 {
		limit = DefaultLimit
	}
	perShard := (limit-1)/shardCount + 1
	t := &Table{limit: perShard * shardCount, onFull: onFull, closed: make(chan struct{})}
	for i := range t.shards {
		t.shards[i].init(perShard)
	}
	return t
}

// OnStart tracks a span. It implements sdktrace.SpanProcessor.
func (t *Table) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	id := key(s.SpanContext().SpanID())
	h := hash(id)
	sh := &t.shards[h>>shardShift]
	sh.mu.Lock()
	sh.started++
	ok := sh.closed || sh.insert(id, h, s)
	sh.mu.Unlock()
	if !ok && !t.full.Load() && t.full.CompareAndSwap(false, true) && t.onFull != nil {
		t.onFull(t.limit)
	}
}

// OnEnd forgets a span. It implements sdktrace.SpanProcessor.
func (t *Table) OnEnd(s sdktrace.ReadOnlySpan) {
	sc := s.SpanContext()
	id := key(sc.SpanID())
	h := hash(id)
	sh := &t.shards[h>>shardShift]
	sh.mu.Lock()
	sh.ended++
	sh.remove(id, h, sc.TraceID())
	sh.mu.Unlock()
}

// SetGroup labels an open span. It does nothing for a span that is not tracked.
func (t *Table) SetGroup(id trace.SpanID, group string) {
	k := key(id)
	h := hash(k)
	sh := &t.shards[h>>shardShift]
	sh.mu.Lock()
	if i := sh.find(k, h); i >= 0 {
		sh.slots[i].group = group
	}
	sh.mu.Unlock()
}

// ForceFlush does nothing: a flush never ends a span. It implements
// sdktrace.SpanProcessor.
func (t *Table) ForceFlush(context.Context) error { return nil }

// Shutdown is [Table.CloseAll] as sdktrace.SpanProcessor wants it. The error says
// how many spans are still open because ctx was done before they were closed.
func (t *Table) Shutdown(ctx context.Context) error {
	t.CloseAll(ctx)
	if n := t.Len(); n > 0 && ctx.Err() != nil {
		return fmt.Errorf("lens: %d spans could not be closed in time, give the shutdown a longer deadline: %w", n, ctx.Err())
	}
	return nil
}

// Len returns the number of spans that are tracked now.
func (t *Table) Len() int {
	n := 0
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		n += sh.used
		sh.mu.Unlock()
	}
	return n
}

// Started returns the number of spans started, tracked or not.
func (t *Table) Started() uint64 {
	var n uint64
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		n += sh.started
		sh.mu.Unlock()
	}
	return n
}

// Ended returns the number of spans ended, tracked or not.
func (t *Table) Ended() uint64 {
	var n uint64
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		n += sh.ended
		sh.mu.Unlock()
	}
	return n
}

// MarshalLog is what the SDK's debug log shows instead of the fields.
func (t *Table) MarshalLog() any {
	return struct {
		Type  string
		Limit int
	}{"lens/openspans", t.limit}
}

func key(id trace.SpanID) uint64 { return binary.NativeEndian.Uint64(id[:]) }

// hash spreads ids that are not random: a program's own generator may count.
func hash(k uint64) uint64 {
	k *= 0x9e3779b97f4a7c15
	return k ^ k>>32
}
