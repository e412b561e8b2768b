package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
)

// byTrace returns the spans of each trace.
func byTrace(spans []span) map[string][]span {
	traces := make(map[string][]span)
	for _, s := range spans {
		traces[s.trace] = append(traces[s.trace], s)
	}
	return traces
}

// link is a span of a rollout: who makes it, below which one, and under which
// group.
type link struct {
	kind, name string
	group      lens.SpanGroup
	below      int // index of the link it is inside when all groups are on
}

// rolloutLinks is a whole rollout, from the supervisor to the servers.
var rolloutLinks = []link{
	{gym.ServerTypeSupervisor, "HTTP POST", gym.HTTPClient, -1},
	{gym.ServerTypeAgent, "POST /run", gym.Server, 0},
	{gym.ServerTypeAgent, gym.SpanRollout, gym.Rollout, 1},
	{gym.ServerTypeAgent, "HTTP POST", gym.HTTPClient, 2},
	{gym.ServerTypeAgent, "POST /v1/responses", gym.Server, 3},
	{gym.ServerTypeAgent, gym.SpanAgentResponses, gym.Agent, 4},
	{gym.ServerTypeAgent, "HTTP POST", gym.HTTPClient, 5},
	{gym.ServerTypeModel, "POST /v1/responses", gym.Server, 6},
	{gym.ServerTypeModel, gym.SpanModelResponses, gym.ModelCall, 7},
	{gym.ServerTypeAgent, "HTTP POST", gym.HTTPClient, 2},
	{gym.ServerTypeResources, "POST /verify", gym.Server, 9},
	{gym.ServerTypeResources, gym.SpanVerify, gym.Verify, 10},
}

// shape is what a complete trace of a rollout looks like while these groups are
// on: a line for each span, which names its parent. A group that is off leaves
// its spans out, and what was inside is inside the next one further out.
func shape(groups lens.GroupSet, kinds map[string]string) []string {
	names := make(map[string]string)
	for name, kind := range kinds {
		names[kind] = name
	}
	var lines []string
	for _, l := range rolloutLinks {
		if !groups.Has(l.group) {
			continue
		}
		parent := ""
		for at := l.below; at >= 0; at = rolloutLinks[at].below {
			if p := rolloutLinks[at]; groups.Has(p.group) {
				parent = names[p.kind] + " " + p.name
				break
			}
		}
		lines = append(lines, names[l.kind]+" "+l.name+" < "+parent)
	}
	slices.Sort(lines)
	return lines
}

// shapeOf is the shape that a trace has.
func shapeOf(trace []span) []string {
	byID := make(map[string]span)
	for _, s := range trace {
		byID[s.id] = s
	}
	var lines []string
	for _, s := range trace {
		parent := ""
		if s.parent != "" {
			parent = "(missing)"
			if p, ok := byID[s.parent]; ok {
				parent = p.process + " " + p.name
			}
		}
		lines = append(lines, s.process+" "+s.name+" < "+parent)
	}
	slices.Sort(lines)
	return lines
}

// rolloutTraces finds the trace of each rollout by the id on its spans, and
// counts those that are complete: one trace for the rollout, with this shape.
func rolloutTraces(spans []span, want []string) (traces map[string][]span, complete int) {
	of := make(map[string]map[string]bool) // rollout to traces
	all := byTrace(spans)
	for _, s := range spans {
		if s.rollout == "" {
			continue
		}
		if of[s.rollout] == nil {
			of[s.rollout] = make(map[string]bool)
		}
		of[s.rollout][s.trace] = true
	}
	traces = make(map[string][]span)
	for id, ids := range of {
		for trace := range ids {
			traces[id] = append(traces[id], all[trace]...)
		}
		if len(ids) == 1 && slices.Equal(shapeOf(traces[id]), want) {
			complete++
		}
	}
	return traces, complete
}

// writeTree writes traces as trees, one span a line with its process and its
// duration, siblings in the order of their starts.
func writeTree(w io.Writer, spans []span) error {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.name, b.name)) })
	present := make(map[string]bool)
	for _, s := range spans {
		present[s.id] = true
	}
	children := make(map[string][]span)
	for _, s := range spans {
		parent := s.parent
		if !present[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var add func(of, indent string)
	add = func(of, indent string) {
		for i, s := range children[of] {
			branch, below := "├─ ", "│  "
			if i == len(children[of])-1 {
				branch, below = "└─ ", "   "
			}
			if of == "" {
				branch, below = "", ""
			}
			note := ""
			if s.parent != "" && !present[s.parent] {
				note = " (parent missing)"
			}
			_, _ = fmt.Fprintf(tw, "  %s\t%10s  %s\n", indent+branch+s.name+note, round(s.duration()), s.process)
			add(s.id, indent+below)
		}
	}
	add("", "")
	return tw.Flush()
}

// round keeps three figures or so.
func round(d time.Duration) string {
	switch {
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	case d >= 10*time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	default:
		d = d.Round(time.Microsecond)
	}
	return d.String()
}
