// Package w3c has the trace context propagator of the W3C recommendation in
// the form that lens installs.
//
// OpenTelemetry's own propagator refuses a version 00 traceparent whose flags
// have bits that it does not know, and with it the whole trace. The
// recommendation says that unknown flags are ignored
// (https://www.w3.org/TR/trace-context-2/#other-flags), so they are cleared
// before OpenTelemetry's propagator sees the header. Surrounding blanks, which
// HTTP strips and environment variables do not, are removed as well.
package w3c

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

const traceparent = "traceparent"

// TraceContext is the propagator for traceparent and tracestate.
type TraceContext struct{ propagation.TraceContext }

// Extract returns ctx with the remote span context of the carrier, or ctx
// itself when the carrier holds none that is valid.
func (t TraceContext) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	return t.TraceContext.Extract(ctx, tolerant{carrier})
}

type tolerant struct{ propagation.TextMapCarrier }

func (c tolerant) Get(key string) string {
	v := strings.TrimSpace(c.TextMapCarrier.Get(key))
	if key == traceparent {
		return knownFlags(v)
	}
	return v
}

// knownFlags clears the flag bits of a version 00 header that are not sampled
// or random. Anything that is not such a header comes back as it is.
func knownFlags(v string) string {
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(v) != length || !strings.HasPrefix(v, "00-") || v[length-3] != '-' {
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
