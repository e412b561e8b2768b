package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/gym"
	"github.com/nemo-lens/lens/semconv"
)

// processOf is the name of the server that has made what has this resource.
func processOf(resource children.Attributes) string {
	return resource.Text(string(semconv.NeMoGymServerNameKey))
}

// byTrace returns the spans of each trace.
func byTrace(spans []children.Span) map[string][]children.Span {
	traces := make(map[string][]children.Span)
	for _, s := range spans {
		traces[s.Trace] = append(traces[s.Trace], s)
	}
	return traces
}

// spanKind is a span of a rollout: which kind of server makes it, and under which
// group.
type spanKind struct {
	server, name string
	group        lens.SpanGroup
}

// rolloutSpans are those of a whole rollout, and how many of each kind there are.
var rolloutSpans = map[spanKind]int{
	{gym.ServerTypeSupervisor, "HTTP POST", gym.HTTPClient}:      1,
	{gym.ServerTypeAgent, "POST /run", gym.Server}:               1,
	{gym.ServerTypeAgent, gym.SpanRollout, gym.Rollout}:          1,
	{gym.ServerTypeAgent, "HTTP POST", gym.HTTPClient}:           3, // to itself, the model, the resources server
	{gym.ServerTypeAgent, "POST /v1/responses", gym.Server}:      1,
	{gym.ServerTypeAgent, gym.SpanAgentResponses, gym.Agent}:     1,
	{gym.ServerTypeModel, "POST /v1/responses", gym.Server}:      1,
	{gym.ServerTypeModel, gym.SpanModelResponses, gym.ModelCall}: 1,
	{gym.ServerTypeResources, "POST /verify", gym.Server}:        1,
	{gym.ServerTypeResources, gym.SpanVerify, gym.Verify}:        1,
}

// expected are the spans of a rollout while these groups are on, by process and
// name; kinds has the kind of each process.
func expected(groups lens.GroupSet, kinds map[string]string) (counts map[string]int, total int) {
	counts = make(map[string]int)
	for process, kind := range kinds {
		for s, n := range rolloutSpans {
			if s.server == kind && groups.Has(s.group) {
				counts[process+" "+s.name] = n
				total += n
			}
		}
	}
	return counts, total
}

// isComplete reports whether the spans are one tree with what is expected.
func isComplete(spans []children.Span, want map[string]int) bool {
	ids, got, roots := make(map[string]bool), make(map[string]int), 0
	for _, s := range spans {
		ids[s.ID] = true
		got[processOf(s.Resource)+" "+s.Name]++
	}
	for _, s := range spans {
		if s.Parent == "" {
			roots++
		} else if !ids[s.Parent] {
			return false
		}
	}
	return roots == 1 && maps.Equal(got, want)
}

// rolloutTraces returns the spans of all traces that have spans of a rollout, by
// its id.
func rolloutTraces(spans []children.Span) map[string][]children.Span {
	all, rollouts := byTrace(spans), make(map[string][]children.Span)
	for _, trace := range all {
		ids := make(map[string]bool)
		for _, s := range trace {
			ids[s.Attributes.Text(string(semconv.NeMoGymRolloutIDKey))] = true
		}
		delete(ids, "")
		for id := range ids {
			rollouts[id] = append(rollouts[id], trace...)
		}
	}
	return rollouts
}

// writeTree writes traces as trees, one span a line with its process and its
// duration, siblings in the order of their starts.
func writeTree(w io.Writer, spans []children.Span) {
	spans = slices.SortedStableFunc(slices.Values(spans), func(a, b children.Span) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Name, b.Name))
	})
	present := make(map[string]bool)
	for _, s := range spans {
		present[s.ID] = true
	}
	below := make(map[string][]children.Span)
	for _, s := range spans {
		if s.Parent != "" && !present[s.Parent] {
			s.Parent, s.Name = "", s.Name+" (parent missing)"
		}
		below[s.Parent] = append(below[s.Parent], s)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var add func(of, indent string)
	add = func(of, indent string) {
		for i, s := range below[of] {
			branch, further := "├─ ", "│  "
			if i == len(below[of])-1 {
				branch, further = "└─ ", "   "
			}
			if of == "" {
				branch, further = "", ""
			}
			fmt.Fprintf(tw, "  %s\t%10s  %s\n", indent+branch+s.Name, round(s.Duration()), processOf(s.Resource))
			add(s.ID, indent+further)
		}
	}
	add("", "")
	_ = tw.Flush()
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
