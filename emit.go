//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity/detect"
)

// clockSkew is by how much an end may lie before its start, because the two
// come from different clocks.
const clockSkew = 30 * time.Millisecond

// EmitSpan records an interval that is over: a stage timed before the set-up,
// or in another process. The parent is the span of ctx; the new span is never
// made current, but what is returned can be a parent:
// trace.ContextWithSpanContext(ctx, sc).
//
// When the group is off it returns a zero SpanContext and looks at nothing
// else. Equal times make a marker. An end that is up to 30 ms before the start
// is taken to be the start, with a warning in the log; more is an error and no
// span, and so is a zero time.
func EmitSpan(ctx context.Context, group SpanGroup, name string, start, end time.Time, attrs ...attribute.KeyValue) (trace.SpanContext, error) {
	if !IsSpanGroupEnabled(group) {
		return trace.SpanContext{}, nil
	}
	// A zero time would mean "now" to the SDK.
	for _, t := range []struct {
		name string
		time time.Time
	}{{"start", start}, {"end", end}} {
		if t.time.IsZero() {
			return trace.SpanContext{}, fmt.Errorf("lens: EmitSpan: span %q: the %s time is zero; give the time at which it happened", name, t.name)
		}
	}
	// Only wall clocks compare across processes.
	start, end = start.Round(0), end.Round(0)
	if behind := start.Sub(end); behind > clockSkew {
		return trace.SpanContext{}, fmt.Errorf("lens: EmitSpan: span %q: the end %s is %s before the start %s; at most %s is put down to clocks that differ",
			name, end.Format(time.RFC3339Nano), behind, start.Format(time.RFC3339Nano), clockSkew)
	} else if behind > 0 {
		log().Warn("clock skew", fmt.Sprintf("span %q: the end is %s before the start; it was recorded as a marker", name, behind))
		end = start
	}
	_, span := startSpanWith(ctx, scopeLens, group, name, trace.WithTimestamp(start), trace.WithAttributes(privateCopy(attrs)...))
	span.End(trace.WithTimestamp(end))
	return span.SpanContext(), nil
}

// ProcessStartTime returns when the kernel created this process, to 10 ms, so
// that the time before main can be a span; see [EmitSpan]. It is known on Linux
// only; elsewhere the error wraps errors.ErrUnsupported.
func ProcessStartTime() (time.Time, error) { return detect.ProcessStartTime() }
