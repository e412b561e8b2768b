package logpipe

import (
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/guard"
	"github.com/nemo-lens/lens/internal/logpipe/reentry"
)

// repair makes all text of the records valid UTF-8, in place: they are the queue's
// own copies. Valid records cost no allocation, but for lists and maps in them.
func (p *Pipeline) repair(records []sdklog.Record) {
	for i := range records {
		if repairRecord(&records[i]) {
			reentry.Do(func() {
				p.log.Warn("log text repaired", "lens: text in log records that is not UTF-8 was repaired")
			})
		}
	}
}

func repairRecord(r *sdklog.Record) (changed bool) {
	if s := r.EventName(); !utf8.ValidString(s) {
		r.SetEventName(guard.ValidText(s))
		changed = true
	}
	if s := r.SeverityText(); !utf8.ValidString(s) {
		r.SetSeverityText(guard.ValidText(s))
		changed = true
	}
	if body, dirty := repairValue(r.Body()); dirty {
		r.SetBody(body)
		changed = true
	}
	keys, values := false, []attribute.KeyValue(nil)
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		keys = keys || !utf8.ValidString(string(kv.Key))
		if v, dirty := repairValue(kv.Value); dirty {
			values = append(values, attribute.KeyValue{Key: kv.Key, Value: v})
		}
		return true
	})
	if len(values) > 0 {
		r.AddAttributes(values...) // in place of those with the same keys
	}
	if keys {
		// Only this way a key can be changed. It forgets how many attributes the
		// limits had dropped.
		all := make([]attribute.KeyValue, 0, r.AttributesLen())
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			all = append(all, kv)
			return true
		})
		r.SetAttributes(guard.CleanAttributes(all)...)
	}
	return changed || keys || len(values) > 0
}

func repairValue(v attribute.Value) (attribute.Value, bool) {
	switch v.Type() {
	case attribute.STRING:
		if utf8.ValidString(v.AsString()) {
			return v, false
		}
		return attribute.StringValue(guard.ValidText(v.AsString())), true
	case attribute.STRINGSLICE:
		if !slices.ContainsFunc(v.AsStringSlice(), func(s string) bool { return !utf8.ValidString(s) }) {
			return v, false
		}
	case attribute.SLICE, attribute.MAP:
	default:
		return v, false
	}
	in := []attribute.KeyValue{{Value: v}}
	// The same slice comes back when there was nothing to do.
	out := guard.CleanAttributes(in)
	return out[0].Value, &out[0] != &in[0]
}
