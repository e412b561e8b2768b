package lenslog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/lenslog"
)

// kept is an exporter that keeps what a record has.
type kept struct{ records []map[string]any }

func (k *kept) Export(_ context.Context, records []sdklog.Record) error {
	for _, r := range records {
		got := map[string]any{"body": r.Body().AsString()}
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			got[string(kv.Key)] = plain(kv.Value)
			return true
		})
		k.records = append(k.records, got)
	}
	return nil
}
func (*kept) Shutdown(context.Context) error   { return nil }
func (*kept) ForceFlush(context.Context) error { return nil }

func plain(v attribute.Value) any {
	if v.Type() == attribute.MAP {
		m := map[string]any{}
		for _, kv := range v.AsMap() {
			m[string(kv.Key)] = plain(kv.Value)
		}
		return m
	}
	return v.AsInterface()
}

// logged returns what one call of a logger exports, and the line of the program's own
// handler.
func logged(t *testing.T, call func(*slog.Logger)) (map[string]any, string) {
	t.Helper()
	var out kept
	var text bytes.Buffer
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(&out)))
	mine := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	require.NotPanics(t, func() { call(slog.New(lenslog.Tee(mine, p))) })
	require.NoError(t, p.Shutdown(t.Context()))
	require.Len(t, out.records, 1)
	return out.records[0], text.String()
}

type nilErr struct{ text string }

func (e *nilErr) Error() string { return e.text }

type loudErr struct{}

func (loudErr) Error() string { panic("loud") }

type typedErr struct{}

func (typedErr) Error() string     { return "typed" }
func (typedErr) ErrorType() string { panic("loud") }

type loudText struct{ n int }

func (loudText) String() string               { panic("loud") }
func (loudText) MarshalText() ([]byte, error) { panic("loud") }

type loudValuer struct{ p *int }

func (v *loudValuer) LogValue() slog.Value { return slog.IntValue(*v.p) }

// A record arrives whatever the methods of its values do, and nothing panics.
func TestFieldA1LoggedValuesPanic(t *testing.T) {
	t.Parallel()
	const loud = "%!v(PANIC=Error method: loud)"
	for name, c := range map[string]struct {
		call func(*slog.Logger)
		want map[string]any
	}{
		"typed nil": {func(l *slog.Logger) { l.Error("x", "err", (*nilErr)(nil), "n", 1) },
			map[string]any{"exception.message": "<nil>", "exception.type": "*lenslog_test.nilErr", "n": int64(1)}},
		"panic": {func(l *slog.Logger) { l.Error("x", "err", loudErr{}, "n", 1) },
			map[string]any{"exception.message": loud, "exception.type": "lenslog_test.loudErr", "n": int64(1)}},
		"type panics": {func(l *slog.Logger) { l.Error("x", "err", typedErr{}) },
			map[string]any{"exception.message": "typed", "exception.type": "lenslog_test.typedErr"}},
		"wrapped": {func(l *slog.Logger) { l.Error("x", "err", errors.Join(loudErr{}, fs.ErrExist)) },
			map[string]any{"exception.message": loud, "exception.type": "lenslog_test.loudErr"}},
		"logger's": {func(l *slog.Logger) { l.With("err", loudErr{}).Error("x", "n", 1) },
			map[string]any{"exception.message": loud, "exception.type": "lenslog_test.loudErr", "n": int64(1)}},
		"in a group": {func(l *slog.Logger) { l.Error("x", slog.Group("g", "err", (*nilErr)(nil), "n", 1)) },
			map[string]any{"g": map[string]any{"err": "<nil>", "n": int64(1)}}},
		"logger's, in a group": {func(l *slog.Logger) {
			l.With(slog.Group("g", "err", (*nilErr)(nil), "n", 1)).WithGroup("h").Error("x", slog.Group("i", "err", loudErr{}), "n", 2)
		}, map[string]any{"g": map[string]any{"err": "<nil>", "n": int64(1)},
			"h": map[string]any{"i": map[string]any{"err": loud}, "n": int64(2)}}},
		"in a list": {func(l *slog.Logger) { l.Error("x", "errs", []error{fs.ErrExist, loudErr{}}, "f", 0.5) },
			map[string]any{"errs": "[file already exists " + loud + "]", "f": 0.5}},
		"in a map": {func(l *slog.Logger) { l.Error("x", "m", map[string]any{"err": (*nilErr)(nil)}) },
			map[string]any{"m": "map[err:<nil>]"}},
		"behind a pointer": {func(l *slog.Logger) { var err error = loudErr{}; l.Error("x", "p", &err) }, nil},
		"text": {func(l *slog.Logger) { l.Error("x", "t", loudText{3}) },
			map[string]any{"t": "%!v(PANIC=String method: loud)"}},
		"valuer":             {func(l *slog.Logger) { l.Error("x", "v", (*loudValuer)(nil), "n", 1) }, nil},
		"valuer of an error": {func(l *slog.Logger) { l.Error("x", "v", valuer{loudErr{}}) }, map[string]any{"exception.message": loud, "exception.type": "lenslog_test.loudErr"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, line := logged(t, c.call)
			require.Equal(t, "x", got["body"])
			require.Contains(t, line, "msg=x")
			if c.want != nil {
				c.want["body"] = "x"
				require.Equal(t, c.want, got)
			} else {
				require.Greater(t, len(got), 1, "%v", got)
			}
		})
	}
}

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

// With a provider of the program it arrives once.
func TestFieldA1ForeignProvider(t *testing.T) {
	t.Parallel()
	var out kept
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(&out)))
	h := lenslog.NewExportHandler(foreign{p})
	require.NotPanics(t, func() { slog.New(h).Error("x", "err", (*nilErr)(nil)) })
	require.NoError(t, p.Shutdown(t.Context()))
	require.Len(t, out.records, 1, "emitted twice")
}

// foreign is a provider of the program's.
type foreign struct{ log.LoggerProvider }

// Of several errors one is the exception, and the others keep their names.
func TestFieldA3SeveralErrors(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), fmt.Errorf("b: %w", fs.ErrExist), errors.New("c")
	const typ = "*errors.errorString"
	for name, tc := range map[string]struct {
		call func(*slog.Logger)
		want map[string]any
	}{
		"one": {func(l *slog.Logger) { l.Error("x", "err", a, "n", 1) },
			map[string]any{"exception.message": "a", "exception.type": typ, "n": int64(1)}},
		"two": {func(l *slog.Logger) { l.Error("x", "first", b, "n", 1, "second", a) },
			map[string]any{"first": "b: file already exists", "exception.message": "a", "exception.type": typ, "n": int64(1)}},
		"the first panics": {func(l *slog.Logger) { l.Error("x", "first", (*nilErr)(nil), "second", a) },
			map[string]any{"first": "<nil>", "exception.message": "a", "exception.type": typ}},
		"logger's and record's": {func(l *slog.Logger) { l.With("logger", b, "n", 1).Error("x", "record", a) },
			map[string]any{"logger": "b: file already exists", "n": int64(1), "exception.message": "a", "exception.type": typ}},
		"logger's alone": {func(l *slog.Logger) { l.With("first", b).With("n", 1).With("second", a).Error("x") },
			map[string]any{"first": "b: file already exists", "n": int64(1), "exception.message": "a", "exception.type": typ}},
		"in groups": {func(l *slog.Logger) { l.With("one", b).WithGroup("g").With("two", c).Error("x", "three", a, "n", 1) },
			map[string]any{"one": "b: file already exists", "g": map[string]any{"two": "c", "n": int64(1)}, "exception.message": "a", "exception.type": typ}},
		"without a name": {func(l *slog.Logger) { l.Error("x", slog.Group("", "first", b), "second", a) },
			map[string]any{"first": "b: file already exists", "exception.message": "a", "exception.type": typ}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := logged(t, tc.call)
			tc.want["body"] = "x"
			require.Equal(t, tc.want, got)
		})
	}
}
