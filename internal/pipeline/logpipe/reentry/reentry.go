// Package reentry recognises log records that the export of log records makes.
//
// An exporter that logs, through a handler that exports, would feed itself: each
// request makes a record, which makes a request. Two marks break the circle: one on
// the context that an exporter is given, and one on the stack of the goroutine that
// calls it, for code that logs without a context.
//
// What an exporter logs from goroutines that it has started itself, without a
// context, is not recognised.
package reentry

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nemo-lens/lens/internal/record/asked"
)

type key struct{}

// Mark returns a context whose records are not to be exported.
func Mark(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Marked reports whether ctx comes from [Mark]. ctx may be nil.
func Marked(ctx context.Context) bool { return ctx != nil && asked.Value(ctx, key{}) != nil }

// site is a function whose calls are found on a stack again.
type site struct {
	open atomic.Int64 // calls under way, of all goroutines
	pc   uintptr      // where the call inside it returns to
}

var exports, handles site

func init() {
	// The return address is the same for every call, as the functions are not
	// inlined, so that finding it takes no symbol table.
	Do(func() { exports.pc = caller() })
	_ = Handle(learner{}, context.Background(), slog.Record{})
}

type learner struct{ slog.Handler }

func (learner) Handle(context.Context, slog.Record) error {
	handles.pc = caller()
	return nil
}

// caller returns the program counter of the caller's caller.
//
//go:noinline
func caller() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

// Do calls f, whose records are not to be exported.
//
//go:noinline
func Do(f func()) {
	exports.open.Add(1)
	defer exports.open.Add(-1)
	f()
}

// Handle calls h.Handle.
//
//go:noinline
func Handle(h slog.Handler, ctx context.Context, r slog.Record) error { //nolint:revive // in the order of the method value
	handles.open.Add(1)
	defer handles.open.Add(-1)
	return h.Handle(ctx, r)
}

// InDo reports whether the calling goroutine is inside [Do]. While no goroutine
// is it costs one atomic load, and else a walk up the stack.
func InDo() bool { return exports.open.Load() > 0 && onStack(exports.pc) }

// InHandle reports whether the calling goroutine is inside [Handle].
func InHandle() bool { return handles.open.Load() > 0 && onStack(handles.pc) }

// maxDepth bounds the walk. A circle is much shorter: the next turn is found.
const maxDepth = 512

func onStack(pc uintptr) bool {
	var pcs [64]uintptr
	for skip := 2; skip < maxDepth; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if slices.Contains(pcs[:n], pc) {
			return true
		}
		if n < len(pcs) {
			break
		}
	}
	return false
}

// Plumbing reports whether name, of an instrumentation scope or of a package, is of
// what carries telemetry: OpenTelemetry's API, SDK and exporters, gRPC, and the
// inside of this library.
func Plumbing(name string) bool {
	for _, p := range []string{
		"go.opentelemetry.io/otel", "go.opentelemetry.io/proto", "google.golang.org/grpc", "github.com/nemo-lens/lens/internal",
	} {
		if rest, ok := strings.CutPrefix(name, p); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
