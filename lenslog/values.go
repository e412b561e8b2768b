package lenslog

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/log/noop"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/safelog"
)

// The bridge makes one error of a record its exception, and forgets the others. So
// there are two bridges as soon as a logger has an error of its own: with it as the
// exception, for records that have none, and with it as an attribute.
type bridges struct {
	exception slog.Handler
	attribute slog.Handler // often the same
}

// forRecord returns the bridge for r, and r with all but its last error as text.
func (b bridges) forRecord(r slog.Record) (slog.Handler, slog.Record) {
	n := 0
	r.Attrs(func(a slog.Attr) bool {
		n += errorsIn(a)
		return true
	})
	switch n {
	case 0:
		return b.exception, r
	case 1:
		return b.attribute, r
	}
	return b.attribute, changed(r, allBut(n-1))
}

func (b bridges) withAttrs(attrs []slog.Attr) bridges {
	n := 0
	for _, a := range attrs {
		n += errorsIn(a)
	}
	if n == 0 && b.exception == b.attribute {
		h := withAttrs(b.exception, attrs)
		return bridges{h, h}
	}
	out := bridges{attribute: withAttrs(b.attribute, mapped(attrs, allBut(n)))}
	if n == 0 {
		out.exception = withAttrs(b.exception, attrs)
	} else {
		out.exception = withAttrs(b.attribute, mapped(attrs, allBut(n-1)))
	}
	return out
}

func (b bridges) withGroup(name string) bridges {
	out := bridges{exception: b.exception.WithGroup(name)}
	if out.attribute = out.exception; b.exception != b.attribute {
		out.attribute = b.attribute.WithGroup(name)
	}
	return out
}

// errorsIn counts the errors that the bridge would take out: those that are an
// attribute themselves, also in a group without a name.
func errorsIn(a slog.Attr) (n int) {
	switch a.Value.Kind() {
	case slog.KindAny:
		if _, ok := a.Value.Any().(error); ok {
			return 1
		}
	case slog.KindGroup:
		if a.Key == "" {
			for _, in := range a.Value.Group() {
				n += errorsIn(in)
			}
		}
	}
	return n
}

// allBut returns a change that makes text of the first n errors.
func allBut(n int) func(slog.Attr) slog.Attr {
	var change func(slog.Attr) slog.Attr
	change = func(a slog.Attr) slog.Attr {
		switch found := errorsIn(a); {
		case found == 0 || n == 0:
		case a.Value.Kind() == slog.KindGroup:
			return slog.Attr{Key: a.Key, Value: slog.GroupValue(mapped(a.Value.Group(), change)...)}
		default:
			n--
			return slog.String(a.Key, fmt.Sprint(a.Value.Any()))
		}
		return a
	}
	return change
}

func mapped(attrs []slog.Attr, change func(slog.Attr) slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = change(a)
	}
	return out
}

func changed(r slog.Record, change func(slog.Attr) slog.Attr) slog.Record {
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(change(a))
		return true
	})
	return out
}

// withAttrs converts attributes, which asks their values.
func withAttrs(h slog.Handler, attrs []slog.Attr) (out slog.Handler) {
	defer func() {
		if recover() != nil {
			out = h.WithAttrs(mapped(attrs, tamed))
		}
	}()
	return h.WithAttrs(attrs)
}

// tamed returns a with a value that can be asked: one that panics becomes the text
// that fmt has for it. An error that the bridge takes out is left, as the logger behind
// it looks after that. Values are only looked at like this when converting a record has
// panicked.
func tamed(a slog.Attr) slog.Attr {
	v := a.Value.Resolve() // catches a panicking LogValue itself
	switch v.Kind() {
	case slog.KindGroup:
		change := tamedInside
		if a.Key == "" {
			change = tamed
		}
		v = slog.GroupValue(mapped(v.Group(), change)...)
	case slog.KindAny:
		if _, ok := v.Any().(error); !ok && !converts(v) {
			v = slog.StringValue(fmt.Sprint(v.Any()))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// tamedInside is tamed for what is in a group, where an error stays.
func tamedInside(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	if err, ok := a.Value.Any().(error); ok {
		if safelog.Panics(err) {
			a.Value = slog.StringValue(fmt.Sprint(err))
		}
		return a
	}
	if a.Value.Kind() == slog.KindGroup {
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(mapped(a.Value.Group(), tamedInside)...)}
	}
	return tamed(a)
}

var nowhere = otelslog.NewHandler("", otelslog.WithLoggerProvider(noop.NewLoggerProvider()))

func converts(v slog.Value) (yes bool) {
	defer func() { yes = recover() == nil }()
	r := slog.NewRecord(time.Time{}, 0, "", 0)
	r.AddAttrs(slog.Attr{Key: "v", Value: v})
	_ = nowhere.Handle(context.Background(), r)
	return true
}
