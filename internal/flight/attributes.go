package flight

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/report/shorten"
)

const redacted = "[REDACTED]"

// appendAll writes attributes into a slot, behind those of which the length is
// given, and returns the new length. Those that do not fit, and those that are
// neither text nor number, are noted as missing.
func (r *Recorder) appendAll(b []byte, base int, length uint32, attrs []attribute.KeyValue) uint32 {
	missing := length & someMissing
	at := base + int(length&^someMissing)
	for i := range attrs {
		kv := &attrs[i]
		key := string(kv.Key)
		if key == "" || len(key) > maxKey {
			missing = someMissing
			continue
		}
		var kind byte
		var number uint64
		var text string
		switch kv.Value.Type() {
		case attribute.BOOL:
			kind = typeBool
			if kv.Value.AsBool() {
				number = 1
			}
		case attribute.INT64:
			kind, number = typeInt, uint64(kv.Value.AsInt64())
		case attribute.FLOAT64:
			kind, number = typeFloat, math.Float64bits(kv.Value.AsFloat64())
		case attribute.STRING:
			kind, text = typeString, kv.Value.AsString()
			if r.redact != nil && r.redact(key) {
				text = redacted
			}
			if short, was := cut(text, maxValue); was {
				kind, text = typeCut, short
			}
		default:
			missing = someMissing
			continue
		}
		size := 2 + len(key) + 8
		if kind >= typeString {
			size = 2 + len(key) + 1 + len(text)
		}
		if at+size > len(b) {
			missing = someMissing
			continue
		}
		b[at], b[at+1] = byte(len(key)), kind
		at += 2
		if kind >= typeString {
			b[at] = byte(len(text))
			at++
			at += copy(b[at:], text)
		} else {
			binary.NativeEndian.PutUint64(b[at:], number)
			at += 8
		}
		at += copy(b[at:], key)
	}
	return uint32(at-base) | missing
}

// cut shortens a text to at most limit bytes.
func cut(s string, limit int) (_ string, was bool) {
	if len(s) <= limit {
		return s, false
	}
	return shorten.Bytes(s, limit), true
}
