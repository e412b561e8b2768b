// Package w3c has the trace context propagator of the W3C recommendation in
// the form that lens installs.
//
// OpenTelemetry's own propagator does the work. Where it departs from the
// recommendation, what it reads is put right first:
//
//   - It refuses a version 00 traceparent whose flags have bits that it does not
//     know, and with it the whole trace. Unknown flags are ignored
//     (https://www.w3.org/TR/trace-context-2/#other-flags), so they are cleared.
//   - It accepts a version 00 traceparent with a dash at its end.
//   - Of several traceparent headers it takes the first, which lets whoever adds
//     one choose the trace. They are no trace, so that a new one begins.
//   - Of several tracestate headers it takes the first. They are one list, whose
//     members may be empty or blank.
//
// Surrounding blanks, which HTTP strips and environment variables do not, are
// removed as well.
package w3c

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
	baggage     = "baggage"
	blanks      = " \t\r\n"
)

// TraceContext is the propagator for traceparent and tracestate.
type TraceContext struct{ propagation.TraceContext }

// Extract returns ctx with the remote span context of the carrier, or ctx
// itself when the carrier holds none that is valid.
func (t TraceContext) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return t.TraceContext.Extract(ctx, tolerant{OneValue(carrier)})
}

// OneValue returns the carrier of incoming headers in a form that has at most
// one value for a key: those of a list (tracestate, baggage) are joined, and
// several values of any other key are none, as nobody can tell which is true.
func OneValue(carrier propagation.TextMapCarrier) propagation.TextMapCarrier {
	if many, ok := carrier.(propagation.ValuesGetter); ok {
		return oneValue{carrier, many}
	}
	return carrier
}

type oneValue struct {
	propagation.TextMapCarrier
	many propagation.ValuesGetter
}

func (c oneValue) Get(key string) string {
	values := c.many.Values(key)
	if len(values) > 1 {
		switch strings.ToLower(key) {
		case tracestate, baggage:
			return strings.Join(values, ",")
		}
		return ""
	}
	return c.TextMapCarrier.Get(key)
}

// Values is for propagators that join a list themselves.
func (c oneValue) Values(key string) []string {
	if v := c.Get(key); v != "" {
		return []string{v}
	}
	return nil
}

type tolerant struct{ propagation.TextMapCarrier }

func (c tolerant) Get(key string) string {
	v := strings.Trim(c.TextMapCarrier.Get(key), blanks)
	switch key {
	case traceparent:
		return knownFlags(v)
	case tracestate:
		return withoutEmptyMembers(v)
	}
	return v
}

// withoutEmptyMembers leaves out members that are nothing but blanks.
func withoutEmptyMembers(list string) string {
	if !strings.Contains(list, ",") {
		return list
	}
	members := strings.Split(list, ",")
	kept := members[:0]
	for _, m := range members {
		if m = strings.Trim(m, blanks); m != "" {
			kept = append(kept, m)
		}
	}
	return strings.Join(kept, ",")
}

// knownFlags clears the flag bits of a version 00 header that are not sampled
// or random. One of another length is "". Anything that is not of version 00
// comes back as it is.
func knownFlags(v string) string {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if !strings.HasPrefix(v, "00-") {
		return v
	}
	if len(v) != length {
		return ""
	}
	if v[length-3] != '-' {
		return v
	}
	high, low := hexDigit(v[length-2]), hexDigit(v[length-1])
	if high < 0 || low < 0 || (high == 0 && low <= 3) {
		return v
	}
	return v[:length-2] + "0" + string("0123"[low&3])
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// Propagator carries the trace context and the baggage.
var Propagator = propagation.NewCompositeTextMapPropagator(TraceContext{}, propagation.Baggage{})
