package identity

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// RandomTraceID, RandomSpanID and RandomIDs draw an id that is not 0, without a system call, a
// lock or an allocation: from the runtime's generators, of which every thread has its
// own and which nobody can seed.
func RandomTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

// RandomSpanID is described at [RandomTraceID].
func RandomSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// RandomIDs draws the ids of a root span. The id of the span is made of both halves of
// the trace's, so it is as random, and differs from those of the other spans of its
// trace as they differ among themselves.
func RandomIDs() (trace.TraceID, trace.SpanID) {
	for {
		high, low := rand.Uint64(), rand.Uint64()
		if high^low == 0 { // also when both are 0
			continue
		}
		var t trace.TraceID
		var s trace.SpanID
		binary.NativeEndian.PutUint64(t[:8], high)
		binary.NativeEndian.PutUint64(t[8:], low)
		binary.NativeEndian.PutUint64(s[:], high^low)
		return t, s
	}
}

// FixedTraceID gives the same id to every new root span and random span ids, for the
// mode in which a job is one trace. It is an id generator of the SDK.
type FixedTraceID trace.TraceID

// NewIDs returns the id, and 1 for an id of 0.
func (f FixedTraceID) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return nonZero(trace.TraceID(f)), RandomSpanID()
}

// NewSpanID returns a random id.
func (FixedTraceID) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return RandomSpanID() }
