package report

import (
	"log"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
)

// handler is the OpenTelemetry error handler of one set-up.
//
// otel.GetErrorHandler does not return what will be called later. Before anybody
// set a handler it returns a delegating object, and the first SetErrorHandler of
// the process makes that object forward to the handler set, for ever. A handler
// that passes errors on to "the previous one" therefore calls itself when the
// previous one is that object, and a stack overflow cannot be recovered from
// (checked on otel v1.47.0). So: the delegating object is recognised and never
// called; what reaches us through it after our time goes to the set-up that is
// active then; and whatever else a program chains together, a second entry of
// the same handler on one goroutine returns.
type handler struct {
	log     *Log
	user    otel.ErrorHandler // set before set-up by the application, or nil
	restore otel.ErrorHandler // what was set before, whatever it was
	live    atomic.Bool
	inside  atomic.Int64
}

var (
	installing sync.Mutex
	active     atomic.Pointer[handler]
)

// Install makes l the destination of what OpenTelemetry components report as
// errors, until restore is called. A handler that the application had set before is
// still called, once for each error, with secrets taken out of the text;
// errors.Is and errors.As see the original. If that handler panics, it is logged.
//
// restore may be called several times and from any goroutine. It gives the
// earlier handler back if ours is still set, and otherwise leaves what the
// program has set since. Errors that reach our handler after that go where they
// would have gone without us.
func (l *Log) Install() (restore func()) {
	if l == nil {
		return func() {}
	}
	installing.Lock()
	defer installing.Unlock()
	h := &handler{log: l}
	h.restore = otel.GetErrorHandler()
	switch prev := h.restore.(type) {
	case *handler:
		h.user = prev.user // not prev itself: one error, one line
	default:
		if !isDelegator(prev) {
			h.user = prev
		}
	}
	h.live.Store(true)
	active.Store(h)
	otel.SetErrorHandler(h)
	return sync.OnceFunc(h.remove)
}

func (h *handler) remove() {
	installing.Lock()
	defer installing.Unlock()
	h.live.Store(false)
	active.CompareAndSwap(h, nil)
	if otel.GetErrorHandler() != otel.ErrorHandler(h) {
		return
	}
	back := h.restore
	for {
		prev, ours := back.(*handler)
		if !ours || prev.live.Load() {
			break
		}
		back = prev.restore
	}
	if prev, ours := back.(*handler); ours {
		active.Store(prev)
	}
	otel.SetErrorHandler(back)
}

// Handle implements otel.ErrorHandler. It never panics and never blocks on
// another goroutine, other than in the application's own handler.
func (h *handler) Handle(err error) {
	if err == nil || h.inside.Load() > 0 && reentered() || aboutResource(err) {
		return
	}
	h.inside.Add(1)
	defer h.inside.Add(-1)

	switch {
	case h.live.Load():
		h.log.report(err)
		h.forward(err)
	case h.user != nil:
		h.forward(err)
	default:
		if now := active.Load(); now != nil && now != h {
			now.Handle(err)
			return
		}
		log.Print(ErrorText(err)) // as OpenTelemetry does without a handler
	}
}

func (h *handler) forward(err error) {
	if h.user == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			h.log.Warn("error handler panic", "lens: the application's OpenTelemetry error handler panicked", "panic", p)
		}
	}()
	h.user.Handle(Scrubbed(err))
}

// report logs what an OpenTelemetry component had to say. Errors that differ only
// in numbers are one kind.
func (l *Log) report(err error) {
	msg := ErrorText(err)
	l.Warn("otel: "+withoutDigits(msg), "lens: OpenTelemetry reports an error", "error", msg)
}

func withoutDigits(s string) string {
	const enough = 120
	s = strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), enough)]
}

// reentered reports whether this goroutine is already inside a handler's Handle,
// further up than the call that asks.
func reentered() bool {
	const self = "github.com/nemo-lens/lens/internal/report.(*handler).Handle"
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	entered := 0
	for {
		f, more := frames.Next()
		if f.Function == self {
			if entered++; entered > 1 {
				return true
			}
		}
		if !more {
			return false
		}
	}
}

// isDelegator recognises the object that otel.GetErrorHandler returns before
// anybody has set a handler. Its type is internal to the module.
func isDelegator(h otel.ErrorHandler) bool {
	t := reflect.TypeOf(h)
	if t == nil || t.Kind() != reflect.Pointer {
		return false
	}
	t = t.Elem()
	return t.Name() == "ErrDelegator" && strings.HasPrefix(t.PkgPath(), "go.opentelemetry.io/otel/internal/")
}
