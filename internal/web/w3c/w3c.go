// Package w3c reads and writes the headers of the W3C recommendations for trace
// context and baggage, in carriers of any kind.
//
// It is not OpenTelemetry's propagator, whose package imports net/http: that is
// 2 MB of a program that is built with lens_noop and speaks no HTTP. It also
// keeps to the recommendation where that one departs from it:
//
//   - Flags that are not known are ignored
//     (https://www.w3.org/TR/trace-context-2/#other-flags) and do not cost the trace.
//   - A version 00 traceparent has nothing behind its flags, not even a dash.
//   - Members of a tracestate may be empty or blank.
//   - Several traceparent headers are none, so that nobody can choose the trace by
//     adding one; several tracestate headers are one list (package propagator).
//
// Surrounding blanks, which HTTP strips and environment variables do not, are
// ignored.
package w3c

import (
	"context"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/record/asked"
)

const (
	traceparentKey = "traceparent"
	tracestateKey  = "tracestate"
	baggageKey     = "baggage"
)

// Getter and Setter are the halves of a carrier. Keys are in lower case.
type (
	Getter interface{ Get(key string) string }
	Setter interface{ Set(key, value string) }
)

// Map is a carrier.
type Map map[string]string

func (m Map) Get(key string) string { return m[key] }
func (m Map) Set(key, value string) { m[key] = value }

// Inject writes the span context and the baggage of ctx.
func Inject(ctx context.Context, carrier Setter) {
	InjectTrace(ctx, carrier)
	if b := asked.Baggage(ctx).String(); b != "" {
		carrier.Set(baggageKey, b)
	}
}

// Extract returns ctx with the span context and the baggage of the carrier,
// each only when it is there and valid. Of a baggage that is not valid
// throughout, the members that are stay.
func Extract(ctx context.Context, carrier Getter) context.Context {
	ctx = ExtractTrace(ctx, carrier)
	if text := carrier.Get(baggageKey); text != "" {
		if b, _ := baggage.Parse(text); b.Len() > 0 {
			ctx = baggage.ContextWithBaggage(ctx, b)
		}
	}
	return ctx
}

// Carries reports whether Inject would write anything.
func Carries(ctx context.Context) bool {
	return asked.SpanContext(ctx).IsValid() || asked.Baggage(ctx).Len() > 0
}

// knownFlags are those that the recommendation gives a meaning.
const knownFlags = trace.FlagsSampled | trace.FlagsRandom

// InjectTrace writes the span context of ctx, if it is valid.
func InjectTrace(ctx context.Context, carrier Setter) {
	sc := asked.SpanContext(ctx)
	if !sc.IsValid() {
		return
	}
	if state := sc.TraceState().String(); state != "" {
		carrier.Set(tracestateKey, state)
	}
	traceID, spanID := sc.TraceID(), sc.SpanID()
	text := append(make([]byte, 0, versionLength), "00-"...)
	text = hex.AppendEncode(text, traceID[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, spanID[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, []byte{byte(sc.TraceFlags() & knownFlags)})
	carrier.Set(traceparentKey, string(text))
}

// ExtractTrace returns ctx with the remote span context of the carrier, or ctx
// itself when the carrier holds none that is valid. A tracestate that cannot be
// read is dropped, and the traceparent stays.
func ExtractTrace(ctx context.Context, carrier Getter) context.Context {
	cfg, ok := parseTraceparent(strings.TrimSpace(carrier.Get(traceparentKey)))
	if !ok {
		return ctx
	}
	cfg.TraceState, _ = trace.ParseTraceState(withoutEmptyMembers(strings.TrimSpace(carrier.Get(tracestateKey))))
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(cfg))
}

// versionLength is that of a version 00 traceparent, with which those of later
// versions begin.
const versionLength = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

func parseTraceparent(text string) (cfg trace.SpanContextConfig, ok bool) {
	if len(text) < versionLength || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return cfg, false
	}
	var version, flags [1]byte
	if !fromHex(version[:], text[:2]) || !fromHex(cfg.TraceID[:], text[3:35]) || !fromHex(cfg.SpanID[:], text[36:52]) || !fromHex(flags[:], text[53:55]) {
		return cfg, false
	}
	switch rest := text[versionLength:]; {
	case version[0] == 0xff, version[0] == 0 && rest != "", rest != "" && rest[0] != '-':
		return cfg, false
	}
	cfg.TraceFlags, cfg.Remote = trace.TraceFlags(flags[0])&knownFlags, true
	return cfg, cfg.TraceID.IsValid() && cfg.SpanID.IsValid()
}

// fromHex takes lower-case digits only, as the recommendation has it.
func fromHex(to []byte, text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// withoutEmptyMembers leaves out members that are nothing but blanks.
func withoutEmptyMembers(list string) string {
	if !strings.Contains(list, ",") {
		return list
	}
	var kept []string
	for member := range strings.SplitSeq(list, ",") {
		if member = strings.TrimSpace(member); member != "" {
			kept = append(kept, member)
		}
	}
	return strings.Join(kept, ",")
}
