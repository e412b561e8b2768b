package lens

import (
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/gate"
	"github.com/nemo-lens/lens/internal/record/redact"
	"github.com/nemo-lens/lens/internal/record/values"
)

// redacted stands in place of a value that must not be recorded.
const redacted = redact.Mark

// DefaultRedactKeys are the attribute keys whose text is never recorded:
// input_text, key, output_text, password, prompt, secret, text and token.
// Keys are compared exactly: "user.password" and "Password" are not among them
// unless [WithStrictRedaction] is on.
var DefaultRedactKeys = RedactKeys{redact.Keys}

// RedactKeys is an immutable set of attribute keys. It is safe for concurrent use.
type RedactKeys struct{ set *gate.Set }

// Has reports whether the key is in the set, compared exactly.
func (r RedactKeys) Has(key string) bool { return r.set.Has(key) }

// Keys returns the keys, sorted, in a slice that the caller owns: to give them
// to [SafeSetSpanAttributes] beside keys of the caller's own.
func (r RedactKeys) Keys() []string { return r.set.Names() }

// RedactValue returns "[REDACTED]" when key is one of the redact keys, else the
// value. Keys given here replace the default ones altogether.
func RedactValue(key, value string, redactKeys ...string) string {
	if isRedacted(key, redactKeys) {
		return redacted
	}
	return value
}

func isRedacted(key string, redactKeys []string) bool {
	if redactKeys != nil {
		return slices.Contains(redactKeys, key)
	}
	return redact.Key(key, strictRedaction())
}

// SafeSetSpanAttributes sets what can be set and leaves the rest: booleans,
// numbers, texts and slices of one of these are set, nil and everything else
// is passed over. Text under a redact key becomes "[REDACTED]", in slices too.
// A nil span, or one that does not record, is left alone.
func SafeSetSpanAttributes(span trace.Span, attrs map[string]any, redactKeys ...string) {
	if span == nil || !span.IsRecording() {
		return
	}
	set := make([]attribute.KeyValue, 0, len(attrs))
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		if v, ok := values.Of(attrs[key]); ok && key != "" {
			kv := attribute.KeyValue{Key: attribute.Key(key), Value: v}
			if isRedacted(key, redactKeys) {
				kv = redact.Value(kv)
			}
			set = append(set, kv)
		}
	}
	span.SetAttributes(set...)
}
