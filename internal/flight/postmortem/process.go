package postmortem

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
)

// State says how a process ended.
type State string

// The states.
const (
	Dead    State = "dead"    // without a word: killed, crashed, or its machine is gone
	Closed  State = "closed"  // in order
	Running State = "running" // its last sign of life is a moment ago
)

// runningWithin is how old the last sign of life of a running process is at most.
const runningWithin = 5 * time.Second

// Process is one process of the run.
type Process struct {
	Path                 string
	RunID, Host, Service string
	Rank, WorldSize      int
	Restart              int
	PID                  int64
	Start, LastSeen      time.Time
	State                State
	ClockJump            time.Duration
	MissedOpen           uint64
	Unfinished, Absent   int

	Open int // spans
	// In is the innermost span that says most, nil when none is open.
	In *Place
	// Last is the span that finished last, nil when there is none.
	Last *Place

	steps   []stepDone // the latest that are known, in the order in which they finished
	maxStep int64
	hasStep bool
	whole   bool // no finished span of the last step has been overwritten
}

// Place is where in its work a process is.
type Place struct {
	Name    string
	Step    int64
	HasStep bool
	For     time.Duration // an open span's age; for a finished one the time since
}

// stepDone is a span of a step that has finished.
type stepDone struct {
	step int64
	name string
	end  time.Time
}

// keptSteps bounds what is remembered of a process.
const keptSteps = 64

// node is a span in the tree of those that are open.
type node struct {
	span     *flight.Span
	age      time.Duration
	step     int64
	hasStep  bool
	depth    int
	children []*node
}

func (r *Report) summarize(path string, f *flight.File, names *interner) *Process {
	p := &Process{
		Path: path, RunID: names.one(f.RunID), Host: names.one(f.Host), Service: names.one(f.Service),
		Rank: f.Rank, WorldSize: f.WorldSize, Restart: f.Restart, PID: f.PID,
		Start: f.Start, LastSeen: f.LastSeen, State: Dead, ClockJump: f.ClockJump(),
		MissedOpen: f.MissedOpen, Unfinished: f.Unfinished, Absent: f.Absent, Open: len(f.Open),
	}
	switch {
	case !f.Closed.IsZero():
		p.State, p.LastSeen = Closed, f.Closed
	case r.now.Sub(f.LastSeen) < runningWithin:
		p.State = Running
	}
	roots, steps := r.tree(f)
	if in := innermost(roots); in != nil {
		p.In = &Place{Name: names.one(in.span.Name), Step: in.step, HasStep: in.hasStep, For: in.age}
	}
	for _, n := range allNodes(roots) {
		if n.hasStep {
			p.maxStep, p.hasStep = max(p.maxStep, n.step), true
		}
	}
	for i := range f.Ended { // latest end first
		s := &f.Ended[i]
		step, has := steps[s.SpanID]
		if i == 0 {
			p.Last = &Place{Name: names.one(s.Name), Step: step, HasStep: has, For: max(p.LastSeen.Sub(s.End), 0)}
		}
		if has && len(p.steps) < keptSteps {
			p.steps = append(p.steps, stepDone{step, names.one(s.Name), s.End})
			p.maxStep, p.hasStep = max(p.maxStep, step), true
		}
	}
	allKept := len(p.steps) < keptSteps || p.steps[keptSteps-1].step < p.maxStep
	p.whole = allKept && !f.CompleteSince.After(lastStepBegan(p, roots, f, steps))
	slices.Reverse(p.steps)
	p.steps = slices.Clip(p.steps)
	return p
}

// lastStepBegan is a time after which all spans of the last step finished: that at which
// the last span of an earlier step did or, when none is known, the start of the first
// span of the last step that is open, or of the span that finished last.
func lastStepBegan(p *Process, roots []*node, f *flight.File, steps map[trace.SpanID]int64) (began time.Time) {
	var first time.Time // of the spans of the last step
	see := func(start time.Time) {
		if first.IsZero() || start.Before(first) {
			first = start
		}
	}
	for _, n := range allNodes(roots) {
		if n.hasStep && n.step == p.maxStep {
			see(n.span.Start)
		}
	}
	if len(f.Ended) > 0 {
		began = f.Ended[0].Start
	}
	if began.IsZero() || !first.IsZero() && first.Before(began) {
		began = first
	}
	for i := range f.Ended {
		if step, has := steps[f.Ended[i].SpanID]; has && step == p.maxStep {
			see(f.Ended[i].Start)
		}
	}
	for i := range f.Ended { // latest end first
		s := &f.Ended[i]
		if step, has := steps[s.SpanID]; has && step < p.maxStep && !s.End.After(first) {
			return s.End
		}
	}
	return began
}

// tree returns the open spans as a forest, earliest first, and the step of every span
// of the file that has one, its own or that of the nearest span around it.
func (r *Report) tree(f *flight.File) (roots []*node, steps map[trace.SpanID]int64) {
	parents := make(map[trace.SpanID]trace.SpanID, len(f.Open)+len(f.Ended))
	own := map[trace.SpanID]int64{}
	for _, spans := range [][]flight.Span{f.Open, f.Ended} {
		for i := range spans {
			s := &spans[i]
			parents[s.SpanID] = s.ParentID
			if step, ok := stepOf(s.Attributes, r.stepKey); ok {
				own[s.SpanID] = step
			}
		}
	}
	steps = map[trace.SpanID]int64{}
	for id := range parents {
		at := id
		for range 100 { // a file that was tampered with can have a circle
			if step, ok := own[at]; ok {
				steps[id] = step
				break
			}
			parent, ok := parents[at]
			if !ok {
				break
			}
			at = parent
		}
	}
	nodes := make(map[trace.SpanID]*node, len(f.Open))
	children := map[trace.SpanID][]*node{}
	for i := range f.Open {
		s := &f.Open[i]
		n := &node{span: s, age: f.Age(s)}
		n.step, n.hasStep = steps[s.SpanID]
		nodes[s.SpanID] = n
		children[s.ParentID] = append(children[s.ParentID], n)
	}
	// The span that started first of a circle, which only a damaged file has, is taken
	// for its root. Start times do not tell a parent from its child: they can be equal.
	placed := make(map[*node]bool, len(nodes))
	for _, circles := range []bool{false, true} {
		for i := range f.Open {
			n, parent := nodes[f.Open[i].SpanID], nodes[f.Open[i].ParentID]
			if placed[n] || parent != nil && !circles {
				continue
			}
			roots = append(roots, n)
			place(n, placed, children)
		}
	}
	return roots, steps
}

func place(n *node, placed map[*node]bool, children map[trace.SpanID][]*node) {
	placed[n] = true
	for _, child := range children[n.span.SpanID] {
		if !placed[child] {
			child.depth = n.depth + 1
			n.children = append(n.children, child)
			place(child, placed, children)
		}
	}
}

func stepOf(attrs []attribute.KeyValue, key string) (int64, bool) {
	for i := range attrs {
		if string(attrs[i].Key) == key {
			switch v := attrs[i].Value; v.Type() {
			case attribute.INT64:
				return v.AsInt64(), true
			case attribute.FLOAT64:
				return int64(v.AsFloat64()), true
			case attribute.STRING:
				n, err := strconv.ParseInt(strings.TrimSpace(v.AsString()), 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

func allNodes(roots []*node) (all []*node) {
	for _, n := range roots {
		all = append(append(all, n), allNodes(n.children)...)
	}
	return all
}

// innermost is the open span that says most about where a process is: inside of which
// none is open, in a step rather than beside one, deep rather than shallow, and open
// for long rather than for a moment.
func innermost(roots []*node) (best *node) {
	for _, n := range allNodes(roots) {
		if len(n.children) > 0 {
			continue
		}
		if best == nil || compareLeaves(n, best) < 0 {
			best = n
		}
	}
	return best
}

func compareLeaves(a, b *node) int {
	if a.hasStep != b.hasStep {
		if a.hasStep {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(b.age, a.age))
}
