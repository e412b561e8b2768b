package identity

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// IDGenerator is the SDK's interface of that name. It is repeated here so that
// programs without the SDK can use the rest of the package.
type IDGenerator interface {
	NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID)
	NewSpanID(ctx context.Context, traceID trace.TraceID) trace.SpanID
}

// NewIDGenerator returns a generator of random trace and span ids. An id is
// drawn in user space, without a system call, a lock or an allocation: from the
// runtime's ChaCha8 generators, of which every thread has its own and which
// math/rand/v2 reads and nobody can seed, masked with a key that is read from
// crypto/rand once per generator. Ids are never 0. The mask keeps the ids of two
// processes apart even where the runtime could not seed itself from the
// operating system and fell back on the time.
func NewIDGenerator() IDGenerator { return newRandom() }

// NewFixedIDGenerator returns a generator that gives id to every new root span
// and random span ids, for the mode in which a job is one trace. An id of 0 is
// replaced by 1.
func NewFixedIDGenerator(id trace.TraceID) IDGenerator {
	return &fixedIDs{randomIDs: newRandom(), trace: nonZero(id)}
}

type randomIDs struct {
	high, low, span uint64 // masks
}

func newRandom() *randomIDs {
	var key [24]byte
	_, _ = crand.Read(key[:]) // never fails: crypto/rand ends the program instead
	return &randomIDs{
		high: binary.NativeEndian.Uint64(key[:8]),
		low:  binary.NativeEndian.Uint64(key[8:16]),
		span: binary.NativeEndian.Uint64(key[16:]),
	}
}

func (g *randomIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	for {
		high, low := rand.Uint64()^g.high, rand.Uint64()^g.low
		if high|low != 0 {
			binary.NativeEndian.PutUint64(id[:8], high)
			binary.NativeEndian.PutUint64(id[8:], low)
			return id, g.spanID()
		}
	}
}

func (g *randomIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return g.spanID() }

func (g *randomIDs) spanID() (id trace.SpanID) {
	for {
		if n := rand.Uint64() ^ g.span; n != 0 {
			binary.NativeEndian.PutUint64(id[:], n)
			return id
		}
	}
}

type fixedIDs struct {
	*randomIDs
	trace trace.TraceID
}

func (g *fixedIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return g.trace, g.spanID()
}
