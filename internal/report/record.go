package report

import (
	"fmt"
	"log/slog"
	"time"
)

// record builds the slog record with every text scrubbed. It happens before the
// handler sees anything, so that no value of the caller's is read later or from
// another goroutine.
func record(now time.Time, level slog.Level, msg string, args []any) slog.Record {
	var raw slog.Record
	raw.Add(args...)
	rec := slog.NewRecord(now, level, Scrub(msg), 0)
	raw.Attrs(func(a slog.Attr) bool {
		rec.AddAttrs(scrubAttr(a))
		return true
	})
	return rec
}

func scrubAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve() // catches a panicking LogValue itself
	switch v.Kind() {
	case slog.KindString, slog.KindAny:
		if secretName(a.Key) {
			return slog.String(a.Key, redacted)
		}
		return slog.String(a.Key, Scrub(text(v.Any())))
	case slog.KindGroup:
		in := v.Group()
		out := make([]slog.Attr, len(in))
		for i := range in {
			out[i] = scrubAttr(in[i])
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(out...)}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// text is what v says of itself. fmt turns a panic in Error or String, also of a
// typed nil, into text.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
