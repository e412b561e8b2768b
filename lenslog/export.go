package lenslog

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log"

	"github.com/nemo-lens/lens/internal/pipeline/logpipe/reentry"
	"github.com/nemo-lens/lens/internal/pipeline/logpipe/safelog"
)

// DefaultScope is the instrumentation scope of exported records.
const DefaultScope = "slog"

// ExportOption changes what [NewExportHandler] exports.
type ExportOption func(*exporting)

type exporting struct {
	level  slog.Leveler
	scope  string
	allow  []string
	source bool
}

// WithLevel exports records of this level and above, INFO without it. A
// *slog.LevelVar can be changed while the application runs.
func WithLevel(l slog.Leveler) ExportOption {
	return func(e *exporting) {
		if l != nil {
			e.level = l
		}
	}
}

// WithScope names the instrumentation scope of the records, which is what backends
// show as the logger; [DefaultScope] without it.
func WithScope(name string) ExportOption {
	return func(e *exporting) {
		if name != "" {
			e.scope = name
		}
	}
}

// WithScopes exports only what is logged from these packages and those below them,
// given by import path. Records that do not say where they come from, as those of
// package log by default, are then not exported.
func WithScopes(allow ...string) ExportOption {
	return func(e *exporting) { e.allow = append(e.allow, allow...) }
}

// WithSource adds file, function and line to the records, as code.file.path,
// code.function.name and code.line.number.
func WithSource() ExportOption { return func(e *exporting) { e.source = true } }

// NewExportHandler returns a handler that emits every record through provider, with
// the trace and span id of the span in its context. It is otelslog's conversion: the
// message becomes the body, attributes stay typed, groups become maps, and an error
// becomes exception.type and exception.message. Of several errors that is the last one,
// the record's own before the logger's; the others are attributes with their texts. A
// value whose method panics, as that of a typed nil does, becomes what fmt makes of it.
// nil stands for the global provider.
// With a provider that does nothing the handler is not enabled.
//
// Records that the export itself makes are not emitted: those from OpenTelemetry's and
// gRPC's own packages, those with the context of an export, and those that are logged
// while a record is being emitted, on the same goroutine. So an exporter that logs
// through this handler cannot feed itself.
func NewExportHandler(provider log.LoggerProvider, opts ...ExportOption) slog.Handler {
	e := exporting{level: slog.LevelInfo, scope: DefaultScope}
	for _, opt := range opts {
		if opt != nil {
			opt(&e)
		}
	}
	if provider == nil {
		provider = otel.GetLoggerProvider()
	}
	bridge := otelslog.NewHandler(e.scope, otelslog.WithLoggerProvider(naming{safelog.Provider(provider)}), otelslog.WithSource(e.source))
	return &exportHandler{bridges: bridges{bridge, bridge}, level: e.level, sites: &sites{allow: e.allow}}
}

type exportHandler struct {
	bridges
	level slog.Leveler
	sites *sites // shared with the handlers made of this one
}

// Enabled implements slog.Handler.
func (h *exportHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level.Level() && !reentry.Marked(ctx) && h.exception.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h *exportHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.sites.export(r.PC) || reentry.Marked(ctx) || reentry.InHandle() {
		return nil
	}
	bridge, r := h.forRecord(r)
	return handle(bridge, ctx, r)
}

// handle emits r. When a value in it panics as it is converted, before anything was
// emitted, it is emitted with that value as text.
func handle(bridge slog.Handler, ctx context.Context, r slog.Record) (err error) { //nolint:revive // in the order of reentry.Handle
	defer func() {
		if recover() != nil {
			err = reentry.Handle(bridge, ctx, changed(r, tamed))
		}
	}()
	return reentry.Handle(bridge, ctx, r)
}

// sites knows which call sites are exported. To look the package of a site up takes
// longer than the rest of the handler, so the answers are kept.
type sites struct {
	allow []string
	known atomic.Pointer[map[uintptr]bool] // never written to
}

// maxSites bounds what is kept. It is more call sites than programs have.
const maxSites = 4096

func (s *sites) export(pc uintptr) bool {
	known := s.known.Load()
	if known != nil {
		if yes, ok := (*known)[pc]; ok {
			return yes
		}
	}
	from := packageOf(pc)
	yes := !reentry.Plumbing(from) && s.allows(from)
	next := map[uintptr]bool{pc: yes}
	if known != nil {
		if len(*known) >= maxSites {
			return yes
		}
		maps.Copy(next, *known)
	}
	s.known.CompareAndSwap(known, &next) // or another site was faster: then next time
	return yes
}

func (s *sites) allows(from string) bool {
	for _, a := range s.allow {
		if rest, ok := strings.CutPrefix(from, a); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return len(s.allow) == 0
}

// packageOf returns the import path of the function at pc, or nothing.
func packageOf(pc uintptr) string {
	if pc == 0 {
		return ""
	}
	f := runtime.FuncForPC(pc - 1) // pc is where the call returns to
	if f == nil {
		return ""
	}
	name := f.Name()
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		name = name[:slash+dot]
	}
	if strings.Contains(name, "%2e") {
		return strings.ReplaceAll(name, "%2e", ".") // how the linker writes gopkg.in/yaml.v3
	}
	return name
}

// WithAttrs implements slog.Handler.
func (h *exportHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	out := *h
	out.bridges = h.withAttrs(attrs)
	return &out
}

// WithGroup implements slog.Handler.
func (h *exportHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	out.bridges = h.withGroup(name)
	return &out
}

// Tee returns a handler that gives each record to next and to a new export handler for
// provider, in this order, each at its own level. nil stands for slog.Default().Handler(),
// with the exception that [NewHandler] describes.
//
// When next is already such a handler for the same provider it is returned unchanged,
// so that a set-up that runs twice exports once. That is seen through [NewHandler], and
// not through handlers of others. To join other handlers, use slog.NewMultiHandler.
func Tee(next slog.Handler, provider log.LoggerProvider, opts ...ExportOption) slog.Handler {
	next = usable(next)
	if provider == nil {
		provider = otel.GetLoggerProvider()
	}
	if exports(next, provider) {
		return next
	}
	return &tee{slog.NewMultiHandler(next, NewExportHandler(provider, opts...)), next, provider}
}

func exports(h slog.Handler, provider log.LoggerProvider) bool {
	switch h := h.(type) {
	case *tee:
		return same(h.provider, provider) || exports(h.next, provider)
	case *handler:
		return exports(h.top, provider)
	}
	return false
}

func same(a, b log.LoggerProvider) bool {
	return reflect.TypeOf(a).Comparable() && a == b
}

type tee struct {
	slog.Handler              // both
	next         slog.Handler // what it was made of, to look into
	provider     log.LoggerProvider
}

// WithAttrs implements slog.Handler.
func (t *tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &tee{t.Handler.WithAttrs(attrs), t.next, t.provider}
}

// WithGroup implements slog.Handler.
func (t *tee) WithGroup(name string) slog.Handler {
	return &tee{t.Handler.WithGroup(name), t.next, t.provider}
}
