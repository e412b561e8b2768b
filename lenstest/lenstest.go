// Package lenstest records the spans of instrumented code in tests.
//
// [Start] sets lens up with an in-memory recorder, switches groups on, and
// gives everything back at the end of the test; the OTel globals are not
// touched. The gate is one for the process, so tests that use it do not run in
// parallel with each other: a second Start fails the test.
//
// In a build with the tag lens_noop nothing is recorded.
package lenstest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/nemo-lens/lens"
)

// warnings goes where lens's own messages go, without the one line of a set-up.
var warnings = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

// Recorder holds the spans of one test. It is safe for concurrent use, and can
// be read after the test's telemetry has ended.
type Recorder struct {
	tb     testing.TB
	spans  *tracetest.SpanRecorder
	handle *lens.TelemetryHandle
}

// Start switches exactly the given groups on and records every span until the
// test ends.
func Start(tb testing.TB, groups ...lens.SpanGroup) *Recorder {
	tb.Helper()
	cfg := lens.DefaultConfig()
	cfg.Enabled, cfg.Exporter, cfg.RunID, cfg.SpanGroups = true, "none", "test", ""
	r := &Recorder{tb: tb, spans: tracetest.NewSpanRecorder()}
	var err error
	r.handle, err = lens.SetupTelemetry(context.Background(), cfg,
		lens.WithSpanProcessor(r.spans), lens.WithGlobalProvider(false), lens.WithLogger(warnings),
		lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { return true, nil }))
	if err != nil {
		tb.Fatalf("lenstest: %v", err)
	}
	lens.SetEnabledSpanGroups(groups...)
	tb.Cleanup(func() {
		if err := r.handle.Shutdown(context.Background()); err != nil {
			tb.Errorf("lenstest: %v", err)
		}
	})
	return r
}

// Handle returns the handle of the test's telemetry.
func (r *Recorder) Handle() *lens.TelemetryHandle { return r.handle }

// Ended returns the finished spans in the order of their ends.
func (r *Recorder) Ended() []sdktrace.ReadOnlySpan { return r.spans.Ended() }

// Open returns the spans that have started and not ended, in the order of
// their starts.
func (r *Recorder) Open() []sdktrace.ReadOnlySpan {
	var open []sdktrace.ReadOnlySpan
	for _, s := range r.spans.Started() {
		if s.EndTime().IsZero() {
			open = append(open, s)
		}
	}
	return open
}

// Named returns the finished spans with that name.
func (r *Recorder) Named(name string) []sdktrace.ReadOnlySpan {
	var named []sdktrace.ReadOnlySpan
	for _, s := range r.Ended() {
		if s.Name() == name {
			named = append(named, s)
		}
	}
	return named
}

// One returns the only finished span with that name; the test fails when there
// is none, or more than one.
func (r *Recorder) One(name string) sdktrace.ReadOnlySpan {
	r.tb.Helper()
	named := r.Named(name)
	if len(named) != 1 {
		r.tb.Fatalf("lenstest: %d finished spans are named %q, want 1; recorded are\n%s", len(named), name, r.Tree())
	}
	return named[0]
}

// IsChild reports whether child was started directly below parent.
func IsChild(parent, child sdktrace.ReadOnlySpan) bool {
	return child.Parent().SpanID() == parent.SpanContext().SpanID() &&
		child.SpanContext().TraceID() == parent.SpanContext().TraceID()
}

// Tree returns the names of the finished spans, one a line, each indented below
// its parent and followed by "!" when its status is Error. Spans with one
// parent are in the order of their starts, so the text does not depend on the
// run and can be compared with one that is kept.
func (r *Recorder) Tree() string {
	spans := r.Ended()
	slices.SortStableFunc(spans, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var b strings.Builder
	var write func(parent sdktrace.ReadOnlySpan, depth int)
	write = func(parent sdktrace.ReadOnlySpan, depth int) {
		for _, s := range spans {
			root := !slices.ContainsFunc(spans, func(p sdktrace.ReadOnlySpan) bool { return IsChild(p, s) })
			if parent == nil && !root || parent != nil && !IsChild(parent, s) {
				continue
			}
			mark := ""
			if s.Status().Code == codes.Error {
				mark = " !"
			}
			fmt.Fprintf(&b, "%s%s%s\n", strings.Repeat("  ", depth), s.Name(), mark)
			write(s, depth+1)
		}
	}
	write(nil, 0)
	return b.String()
}
