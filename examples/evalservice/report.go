package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/gym"
)

// report prints what the run has shown. It returns an error when a rollout was
// not scored.
func (s *supervisor) report(results []result, took time.Duration) error {
	names := []string{gym.ServerTypeSupervisor}
	kinds := map[string]string{gym.ServerTypeSupervisor: gym.ServerTypeSupervisor}
	stats := map[string]*lens.Stats{gym.ServerTypeSupervisor: new(s.handle.Stats())}
	for _, p := range s.fleet.servers {
		names = append(names, p.name)
		kinds[p.name], stats[p.name] = p.kind, p.stats
	}
	var all children.Exported
	var out bytes.Buffer
	switch {
	case s.files != nil:
		for _, name := range names {
			if err := all.ReadFile(s.files.of(name)); err != nil {
				return err
			}
		}
		s.traces(&out, all.Spans, kinds, results)
	case s.handle.IsExporting():
		fmt.Fprintf(&out, "\nrun %s: spans and metrics went to %s\n", s.runID, s.handle.Endpoint())
	default:
		fmt.Fprint(&out, "\nno traces: telemetry is off\n")
	}
	failed := accuracy(&out, results, len(s.tasks), took)
	if s.handle.IsExporting() {
		writeStats(&out, names, stats)
	}
	if s.files != nil {
		writeMetrics(&out, names, all.Metrics)
	}
	_, err := s.stdout.Write(out.Bytes())
	return errors.Join(err, failed)
}

// traces prints the start-up and the slowest rollout.
func (s *supervisor) traces(out io.Writer, spans []children.Span, kinds map[string]string, results []result) {
	for _, trace := range byTrace(spans) {
		if slices.ContainsFunc(trace, func(s children.Span) bool { return s.Name == "gym.startup" }) {
			fmt.Fprintf(out, "\nthe start-up, trace %s:\n\n", trace[0].Trace)
			writeTree(out, trace)
		}
	}
	for _, g := range gym.CrossProcessSpine.Groups() {
		if !s.groups.Has(g) {
			fmt.Fprintf(out, "\nno trace of a rollout across the processes: it takes the groups %s\n", gym.CrossProcessSpine)
			return
		}
	}
	rollouts := rolloutTraces(spans)
	if len(rollouts) == 0 {
		fmt.Fprintln(out, "\nno traces: no spans were written")
		return
	}
	slowest := slices.MaxFunc(results, func(a, b result) int { return int(a.took - b.took) })
	if trace := rollouts[slowest.id]; len(trace) > 0 {
		fmt.Fprintf(out, "\nthe slowest rollout, %s, trace %s:\n\n", slowest.id, trace[0].Trace)
		writeTree(out, trace)
	}
	want, total := expected(s.groups, kinds)
	complete := 0
	for _, trace := range rollouts {
		if isComplete(trace, want) {
			complete++
		}
	}
	fmt.Fprintf(out, "\ntraces: %d of %d rollouts are one complete trace of %d spans in %d processes\n", complete, len(results), total, len(kinds))
}

// accuracy prints the share of rollouts that were right. The error is not nil
// when one has not come to an end.
func accuracy(out io.Writer, results []result, tasks int, took time.Duration) error {
	right, failed := 0, 0
	var first error
	solved := make(map[int]bool)
	for i, r := range results {
		switch {
		case r.err != nil:
			failed++
			if first == nil {
				first = fmt.Errorf("rollout %s: %w", r.id, r.err)
			}
		case r.reward == 1:
			right++
			solved[i%tasks] = true
		}
	}
	fmt.Fprintf(out, "accuracy: %.4f (%d of %d rollouts; %d of %d tasks solved at least once), in %s\n",
		float64(right)/float64(len(results)), right, len(results), len(solved), min(tasks, len(results)), round(took))
	if failed == 0 {
		return nil
	}
	return errors.Join(fmt.Errorf("%d of %d rollouts failed", failed, len(results)), first)
}

// writeStats prints what became of the spans. In a run that lost nothing each
// row has the same number under started, ended and exported.
func writeStats(out io.Writer, names []string, stats map[string]*lens.Stats) {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\nspans of\tstarted\tended\texported\tdropped\tfailed\topen\t\n")
	for _, name := range names {
		if st := stats[name]; st != nil {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, st.Started, st.Ended, st.Exported, st.Dropped, st.Failed, st.Open)
		} else {
			fmt.Fprintf(tw, "%s\tnot known\t\t\t\t\t\t\n", name)
		}
	}
	_ = tw.Flush()
}
