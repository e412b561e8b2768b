package otlptest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// spanKey is the identity of a span.
type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (s Span) key() spanKey { return spanKey{s.TraceID, s.SpanID} }

func (s Span) parentKey() spanKey { return spanKey{s.TraceID, s.ParentSpanID} }

// IsRoot reports whether the span has no parent.
func (s Span) IsRoot() bool { return !s.ParentSpanID.IsValid() }

// IsChildOf reports whether parent is the span's parent, in the same trace.
func (s Span) IsChildOf(parent Span) bool { return !s.IsRoot() && s.parentKey() == parent.key() }

// Tree prints the names of spans as trees, siblings in the order of their starts, without anything that
// differs from run to run:
//
//	job
//	├─ model_init
//	└─ step
//	   └─ forward_backward
//
// A span whose parent is not among spans is printed as a root and marked "(parent missing)".
func Tree(spans []Span) string {
	return TreeFunc(spans, func(s Span) string { return s.Name })
}

// TreeFunc is [Tree] with a label in place of the name.
func TreeFunc(spans []Span, label func(Span) string) string {
	present := map[spanKey]bool{}
	for _, s := range spans {
		present[s.key()] = true
	}
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b Span) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Name, b.Name))
	})
	var roots []Span
	children := map[spanKey][]Span{}
	for _, s := range sorted {
		if s.IsRoot() || !present[s.parentKey()] {
			roots = append(roots, s)
		} else {
			children[s.parentKey()] = append(children[s.parentKey()], s)
		}
	}
	var b strings.Builder
	printed := map[spanKey]bool{}
	var branch func(s Span, first, rest string)
	branch = func(s Span, first, rest string) {
		b.WriteString(first + label(s))
		if !s.IsRoot() && !present[s.parentKey()] {
			b.WriteString(" (parent missing)")
		}
		b.WriteByte('\n')
		if printed[s.key()] { // a second span with the same id, or a circle
			return
		}
		printed[s.key()] = true
		list := children[s.key()]
		for i, c := range list {
			if i == len(list)-1 {
				branch(c, rest+"└─ ", rest+"   ")
			} else {
				branch(c, rest+"├─ ", rest+"│  ")
			}
		}
	}
	for _, s := range roots {
		branch(s, "", "")
	}
	for _, s := range sorted { // only a circle has no root
		if !printed[s.key()] {
			b.WriteString("(circle) ")
			branch(s, "", "")
		}
	}
	return b.String()
}

// Named returns the spans of that name, in order.
func Named(spans []Span, name string) []Span {
	var out []Span
	for _, s := range spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// One returns the only span of that name, and fails the test when there is none or another.
func One(tb testing.TB, spans []Span, name string) Span {
	tb.Helper()
	found := Named(spans, name)
	if len(found) != 1 {
		tb.Fatalf("otlptest: %d spans named %q, want 1, in\n%s", len(found), name, Tree(spans))
	}
	return found[0]
}

// Children returns the children of parent, in order.
func Children(spans []Span, parent Span) []Span {
	var out []Span
	for _, s := range spans {
		if s.IsChildOf(parent) {
			out = append(out, s)
		}
	}
	return out
}

// Parent returns the parent of child when it is among spans.
func Parent(spans []Span, child Span) (Span, bool) {
	for _, s := range spans {
		if child.IsChildOf(s) {
			return s, true
		}
	}
	return Span{}, false
}

// Orphans returns the spans whose parent is not among spans.
func Orphans(spans []Span) []Span {
	var out []Span
	for _, s := range spans {
		if _, ok := Parent(spans, s); !ok && !s.IsRoot() {
			out = append(out, s)
		}
	}
	return out
}

// TraceIDs returns the different trace ids, in order of appearance.
func TraceIDs(spans []Span) []trace.TraceID {
	var out []trace.TraceID
	for _, s := range spans {
		if !slices.Contains(out, s.TraceID) {
			out = append(out, s.TraceID)
		}
	}
	return out
}

// CheckWhole fails the test unless spans are one trace with one root, no orphan, and no id twice.
func CheckWhole(tb testing.TB, spans []Span) {
	tb.Helper()
	roots := 0
	seen := map[spanKey]bool{}
	for _, s := range spans {
		if s.IsRoot() {
			roots++
		}
		if seen[s.key()] {
			tb.Errorf("otlptest: span %q: id %s comes twice", s.Name, s.SpanID)
		}
		seen[s.key()] = true
	}
	for _, s := range spans {
		if !s.IsRoot() && !seen[s.parentKey()] {
			tb.Errorf("otlptest: span %q: parent %s is missing", s.Name, s.ParentSpanID)
		}
	}
	if ids := TraceIDs(spans); len(ids) != 1 || roots != 1 {
		tb.Errorf("otlptest: %d trace ids and %d roots, want 1 and 1, in\n%s", len(ids), roots, Tree(spans))
	}
}

// CheckChild fails the test unless child is a child of parent.
func CheckChild(tb testing.TB, parent, child Span) {
	tb.Helper()
	if !child.IsChildOf(parent) {
		tb.Errorf("otlptest: span %q (trace %s, parent %s) is not a child of %q (trace %s, id %s)",
			child.Name, child.TraceID, child.ParentSpanID, parent.Name, parent.TraceID, parent.SpanID)
	}
}
