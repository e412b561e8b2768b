package cli

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/waterfall"
)

// result is what is known of a run.
type result struct {
	*view
	store    *trace.Store
	report   *trace.Report
	selected []bool

	names    []summary.Name
	steps    []summary.Step // the chosen ones, in order
	laggards []summary.Laggard

	roots    []uint32 // of the waterfall
	focus    string   // what the waterfall and the critical path are of
	critical []summary.Segment
}

func (r *result) compute() {
	r.names = summary.Names(r.store, r.selected)
	_ = summary.SortNames(r.names, r.flags.sort)
	r.steps = slices.DeleteFunc(summary.Steps(r.store, r.wait), func(s summary.Step) bool { return !r.filter.Steps.Has(s.Step) })
	r.laggards = summary.Laggards(r.steps)
	r.chooseFocus()
}

// chooseFocus decides what is worth looking at closely: the step or the rollout
// that was asked for, else the step with the longest lag, and for the waterfall
// the longest trace.
func (r *result) chooseFocus() {
	if r.selected != nil {
		// Chosen spans that are in no other chosen one.
		for _, i := range r.chosen() {
			if p := r.store.At(int(i)).Parent; p == trace.None || !r.ancestorChosen(int(p)) {
				r.roots = append(r.roots, i)
			}
		}
	} else if i, ok := r.longest(r.rolloutsOrAll(r.store.Roots())); ok {
		id := r.store.At(int(i)).Trace
		for _, root := range r.store.Roots() {
			if r.store.At(int(root)).Trace == id {
				r.roots = append(r.roots, root)
			}
		}
	}
	r.roots = r.byRank(r.roots)
	if len(r.steps) > 0 && len(r.filter.Rollouts) == 0 {
		worst := slices.MaxFunc(r.steps, func(a, b summary.Step) int {
			return cmp.Or(cmp.Compare(a.Lag, b.Lag), cmp.Compare(a.Duration, b.Duration), cmp.Compare(b.Step, a.Step))
		})
		r.critical, r.focus = worst.Path(r.wait), fmt.Sprintf("step %d", worst.Step)
		return
	}
	candidates := r.roots
	if i, ok := r.longest(candidates); ok {
		r.critical = summary.TracePath(r.store, int(i))
		span := r.store.At(int(i))
		r.focus = r.store.Name(span)
		if span.Rollout != 0 {
			r.focus = "rollout " + r.store.Rollouts.Text(span.Rollout)
		}
	}
}

// rolloutsOrAll are the roots of rollouts when there are any.
func (r *result) rolloutsOrAll(roots []uint32) []uint32 {
	var rollouts []uint32
	for _, i := range roots {
		if r.store.At(int(i)).Rollout != 0 {
			rollouts = append(rollouts, i)
		}
	}
	if len(rollouts) > 0 {
		return rollouts
	}
	return roots
}

// byRank orders roots by rank; of one rank they stay as they are.
func (r *result) byRank(roots []uint32) []uint32 {
	rank := func(i uint32) int { return r.store.ProcessOf(r.store.At(int(i))).Rank }
	slices.SortStableFunc(roots, func(a, b uint32) int {
		x, y := r.store.At(int(a)), r.store.At(int(b))
		return cmp.Or(cmp.Compare(x.Step, y.Step), cmp.Compare(rank(a), rank(b)))
	})
	return roots
}

func (r *result) ancestorChosen(i int) bool {
	for ; i != trace.None; i = int(r.store.At(i).Parent) {
		if r.selected[i] {
			return true
		}
	}
	return false
}

// chosen are the indices of the chosen spans by their start.
func (r *result) chosen() []uint32 {
	var out []uint32
	for i := range r.store.Len() {
		if r.selected == nil || r.selected[i] {
			out = append(out, uint32(i))
		}
	}
	slices.SortStableFunc(out, func(a, b uint32) int {
		return cmp.Compare(r.store.At(int(a)).Start, r.store.At(int(b)).Start)
	})
	return out
}

// longest is the index of the longest span.
func (r *result) longest(of []uint32) (uint32, bool) {
	if len(of) == 0 {
		return 0, false
	}
	return slices.MaxFunc(of, func(a, b uint32) int {
		return cmp.Compare(r.store.At(int(a)).Duration, r.store.At(int(b)).Duration)
	}), true
}

// count is how many spans are chosen.
func (r *result) count() (n int) {
	for _, name := range r.names {
		n += name.Count
	}
	return n
}

// origin says whose the spans are.
type origin struct {
	runs      []string
	processes int
	ranks     []int
	traces    int
}

func (r *result) origin() (o origin) {
	seenProcess := make([]bool, len(r.store.Processes))
	seenTrace := make([]bool, r.store.Traces())
	for i := range r.store.Len() {
		span := r.store.At(i)
		seenProcess[span.Process], seenTrace[span.Trace] = true, true
	}
	for i, seen := range seenProcess {
		if !seen {
			continue
		}
		o.processes++
		p := &r.store.Processes[i]
		if p.Run != "" && !slices.Contains(o.runs, p.Run) {
			o.runs = append(o.runs, p.Run)
		}
		if p.Rank >= 0 {
			o.ranks = append(o.ranks, p.Rank)
		}
	}
	for _, seen := range seenTrace {
		if seen {
			o.traces++
		}
	}
	slices.Sort(o.ranks)
	o.ranks = slices.Compact(o.ranks)
	return o
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return terminal.Count(int64(n)) + " " + many
}

func (r *result) title() string {
	runs := r.origin().runs
	if len(runs) == 0 {
		return "nemo-lens"
	}
	return "run " + strings.Join(runs[:min(len(runs), 3)], ", ")
}

// header says in a line or two what was read, and what was not.
func (r *result) header(w io.Writer) {
	o := r.origin()
	runs := o.runs
	start, end := r.store.Bounds()
	who := plural(o.processes, "process", "processes")
	if n := len(o.ranks); n == o.processes && n > 0 {
		who = plural(n, "rank", "ranks")
	}
	line := fmt.Sprintf("%s of %s in %s", plural(r.store.Len(), "span", "spans"), who, plural(o.traces, "trace", "traces"))
	if r.store.Len() > 0 {
		line += fmt.Sprintf(", %s from %s", r.style.Duration(end-start), time.Unix(0, start).UTC().Format("2006-01-02 15:04:05.000 MST"))
	}
	switch {
	case len(runs) == 1:
		line += ", run " + r.style.Clean(runs[0])
	case len(runs) > 1:
		line += fmt.Sprintf("; %d runs are mixed, choose with --run: %s", len(runs), r.style.Clean(strings.Join(runs[:min(len(runs), 5)], ", ")))
	}
	fmt.Fprintln(w, line)
	if text := r.report.LeftOut(); text != "" {
		fmt.Fprintln(w, r.style.Paint(terminal.Red, "left out: "+r.style.Clean(text)))
	}
	var notes []string
	if n := r.open(); n > 0 {
		notes = append(notes, plural(n, "span is open, marked > and drawn", "spans are open, marked > and drawn")+" to the last sign of life of the process")
	}
	if n := r.report.Orphans; n > 0 {
		notes = append(notes, plural(int(n), "span has a parent", "spans have a parent")+" that is in no file")
	}
	if n := r.report.Clamped; n > 0 {
		notes = append(notes, plural(int(n), "span ends", "spans end")+" before the start and count as a moment")
	}
	if n := r.report.Loops; n > 0 {
		notes = append(notes, plural(int(n), "circle", "circles")+" of parents cut")
	}
	if n := r.report.Filtered; n > 0 {
		notes = append(notes, plural(int(n), "span", "spans")+" of other runs, ranks or traces not chosen")
	}
	if len(notes) > 0 {
		fmt.Fprintln(w, r.style.Paint(terminal.Faint, "note: "+strings.Join(notes, "; ")))
	}
}

// open is how many of the spans have not ended.
func (r *result) open() (n int) {
	for i := range r.store.Len() {
		if r.store.At(i).Open() {
			n++
		}
	}
	return n
}

func (r *result) shows(section string) bool {
	if len(r.show) == 0 {
		return section != "spans"
	}
	return slices.Contains(r.show, section)
}

func (r *result) writeText(w io.Writer) error {
	out := bufio.NewWriter(w)
	r.header(out)
	if r.count() == 0 {
		fmt.Fprintln(out, "no span fits the filters")
		return out.Flush()
	}
	for _, section := range []struct {
		name  string
		write func(io.Writer) error
	}{{"summary", r.summaryText}, {"steps", r.stepsText}, {"waterfall", r.waterfallText}, {"critical", r.criticalText}, {"spans", r.spansText}} {
		if r.shows(section.name) {
			if err := section.write(out); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// limit cuts a table to the lines that were asked for.
func limit[T any](list []T, most int) ([]T, int) {
	if most == 0 || len(list) <= most {
		return list, 0
	}
	return list[:most], len(list) - most
}

func (r *result) more(w io.Writer, n int, what string) {
	if n > 0 {
		fmt.Fprintln(w, r.style.Paint(terminal.Faint, fmt.Sprintf("%s and %s more %s: --lines 0 shows all", r.style.Ellipsis(), terminal.Count(int64(n)), what)))
	}
}

func (r *result) heading(w io.Writer, text string) {
	fmt.Fprintln(w, "\n"+r.style.Paint(terminal.Bold, text))
}

func (r *result) summaryText(w io.Writer) error {
	fmt.Fprintln(w)
	names, left := limit(r.names, r.flags.lines)
	rows := make([][]string, len(names))
	for i, n := range names {
		failed := ""
		if n.Errors > 0 {
			failed = terminal.Count(int64(n.Errors))
		}
		d := r.style.Duration
		count := terminal.Count(int64(n.Count))
		if n.Open > 0 {
			count += fmt.Sprintf(" (%d>)", n.Open)
		}
		rows[i] = []string{r.style.Clean(n.Name), count, d(n.Total), d(n.Self), d(int64(n.Mean)), d(n.P50), d(n.P95), d(n.Max), failed}
	}
	columns := []terminal.Column{{Title: "SPAN"}, {Title: "COUNT"}, {Title: "TOTAL", Drop: 1}, {Title: "SELF"}, {Title: "MEAN", Drop: 4}, {Title: "P50", Drop: 2}, {Title: "P95", Drop: 3}, {Title: "MAX", Drop: 5}}
	if slices.ContainsFunc(names, func(n summary.Name) bool { return n.Errors > 0 }) {
		columns = append(columns, terminal.Column{Title: "ERRORS"})
	} else {
		for i := range rows {
			rows[i] = rows[i][:len(columns)]
		}
	}
	err := r.style.Table(w, columns, rows, func(i int) string {
		if names[i].Errors > 0 {
			return terminal.Red
		}
		return ""
	})
	r.more(w, left, "names")
	return err
}

// stepsText shows the steps with the longest lags.
func (r *result) stepsText(w io.Writer) error {
	if len(r.steps) == 0 {
		return nil
	}
	var durations []int64
	shared := 0
	for _, s := range r.steps {
		durations = append(durations, s.Duration)
		if s.Ranks > 1 {
			shared++
		}
	}
	slices.Sort(durations)
	d := r.style.Duration
	at := func(q float64) string { return d(durations[int(math.Ceil(q*float64(len(durations))))-1]) }
	r.heading(w, fmt.Sprintf("%s: p50 %s, p95 %s, max %s", plural(len(r.steps), "step", "steps"), at(0.5), at(0.95), at(1)))
	if shared == 0 {
		fmt.Fprintln(w, "no slowest rank: that takes steps with spans of two ranks")
		return nil
	}
	worst := slices.DeleteFunc(slices.Clone(r.steps), func(s summary.Step) bool { return s.Ranks < 2 })
	slices.SortStableFunc(worst, func(a, b summary.Step) int { return cmp.Compare(b.Lag, a.Lag) })
	most := min(10, r.flags.lines)
	if r.flags.lines == 0 || slices.Contains(r.show, "steps") {
		most = r.flags.lines
	}
	worst, left := limit(worst, most)
	rows := make([][]string, len(worst))
	for i, s := range worst {
		rows[i] = []string{strconv.Itoa(s.Step), d(s.Duration), r.style.Clean(s.Slowest), d(s.Busy), d(s.Lag), d(s.Waited), strconv.Itoa(s.Ranks)}
	}
	err := r.style.Table(w, []terminal.Column{
		{Title: "STEP"}, {Title: "DURATION", Drop: 2}, {Title: "SLOWEST"}, {Title: "BUSY", Drop: 3}, {Title: "LAG"}, {Title: "OTHERS WAITED", Drop: 1}, {Title: "RANKS", Drop: 4},
	}, rows, nil)
	r.more(w, left, "steps with less lag")
	if l := r.laggards[0]; l.Steps > 0 {
		fmt.Fprintf(w, "slowest most often: %s, in %d of %d steps, %s in all\n", r.style.Clean(l.Label), l.Steps, shared, d(l.Lag))
	}
	return err
}

func (r *result) waterfallText(w io.Writer) error {
	if len(r.roots) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	lines := r.flags.lines
	left, err := waterfall.Draw(w, r.style, r.store, waterfall.Options{Roots: r.roots, Selected: r.selected, Lines: lines, All: r.flags.all})
	r.more(w, left, "lines")
	if traces := r.origin().traces; traces > 1 && r.selected == nil {
		id := r.store.TraceID(r.store.At(int(r.roots[0])).Trace)
		fmt.Fprintln(w, r.style.Paint(terminal.Faint, fmt.Sprintf("the longest of %d traces, %s: --trace shows another", traces, hex.EncodeToString(id[:]))))
	}
	return err
}

func (r *result) criticalText(w io.Writer) error {
	if len(r.critical) == 0 {
		return nil
	}
	var total int64
	for _, s := range r.critical {
		total += s.Time
	}
	r.heading(w, fmt.Sprintf("critical path of %s: %s", r.style.Clean(r.focus), r.style.Duration(total)))
	most := min(10, r.flags.lines)
	if r.flags.lines == 0 || slices.Contains(r.show, "critical") {
		most = r.flags.lines
	}
	parts, left := limit(summary.Parts(r.critical), most)
	rows := make([][]string, len(parts))
	for i, p := range parts {
		rows[i] = []string{r.style.Clean(p.Name), r.style.Clean(p.Process), r.style.Duration(p.Time), fmt.Sprintf("%.1f %%", 100*p.Share)}
	}
	err := r.style.Table(w, []terminal.Column{{Title: "SPAN"}, {Title: "ON", Drop: 1}, {Title: "TIME"}, {Title: "SHARE"}}, rows, nil)
	r.more(w, left, "parts")
	return err
}

// spanRow is one span in a list.
type spanRow struct {
	Start      int64           `json:"start_unix_ns"`
	Duration   int64           `json:"duration_ns"`
	Process    string          `json:"process"`
	Name       string          `json:"name"`
	Group      string          `json:"group"`
	Step       *int32          `json:"step,omitempty"`
	Rollout    string          `json:"rollout,omitempty"`
	Error      bool            `json:"error,omitempty"`
	Open       bool            `json:"open,omitempty"` // it ends with the last sign of life of its process
	Trace      string          `json:"trace_id"`
	Span       string          `json:"span_id"`
	Parent     string          `json:"parent_span_id,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

func (r *result) spanRow(labels []string, i uint32) spanRow {
	span := r.store.At(int(i))
	id := r.store.TraceID(span.Trace)
	row := spanRow{
		Start: span.Start, Duration: span.Duration, Process: labels[span.Process], Name: r.store.Name(span), Group: r.store.Group(span),
		Rollout: r.store.Rollouts.Text(span.Rollout), Error: span.Error(), Open: span.Open(), Trace: hex.EncodeToString(id[:]), Span: fmt.Sprintf("%016x", span.ID),
	}
	if span.ParentID != 0 {
		row.Parent = fmt.Sprintf("%016x", span.ParentID)
	}
	if span.Step != trace.None {
		row.Step = &span.Step
	}
	if text := r.store.Attributes(int(i)); text != "" && text != "{}" && json.Valid([]byte(text)) {
		row.Attributes = json.RawMessage(text)
	}
	return row
}

func (r *result) spansText(w io.Writer) error {
	fmt.Fprintln(w)
	labels := r.store.Labels()
	first, _ := r.store.Bounds()
	spans, left := limit(r.chosen(), r.flags.lines)
	rows := make([][]string, len(spans))
	for k, i := range spans {
		row := r.spanRow(labels, i)
		step := ""
		if row.Step != nil {
			step = strconv.Itoa(int(*row.Step))
		}
		duration := r.style.Duration(row.Duration)
		if row.Open {
			duration += ">"
		}
		rows[k] = []string{
			r.style.Clean(row.Name), r.style.Clean(row.Process), step, "+" + r.style.Duration(row.Start-first), duration, row.Span, row.Trace,
		}
	}
	err := r.style.Table(w, []terminal.Column{
		{Title: "SPAN"}, {Title: "ON", Drop: 2}, {Title: "STEP", Drop: 3}, {Title: "START"}, {Title: "DURATION"}, {Title: "ID", Drop: 4}, {Title: "TRACE", Drop: 5},
	}, rows, func(k int) string {
		if r.store.At(int(spans[k])).Error() {
			return terminal.Red
		}
		return ""
	})
	r.more(w, left, "spans")
	return err
}

// document is the whole of a view as JSON.
type document struct {
	Read      *trace.Report     `json:"read"`
	LeftOut   string            `json:"left_out,omitempty"`
	Runs      []string          `json:"runs"`
	Processes int               `json:"processes"`
	Ranks     []int             `json:"ranks"`
	Traces    int               `json:"traces"`
	Start     int64             `json:"start_unix_ns"`
	End       int64             `json:"end_unix_ns"`
	Names     []summary.Name    `json:"names"`
	Steps     []summary.Step    `json:"steps"`
	Laggards  []summary.Laggard `json:"slowest_ranks"`
	Critical  *criticalDocument `json:"critical_path,omitempty"`
	Spans     []spanRow         `json:"spans,omitempty"`
}

type criticalDocument struct {
	Of       string            `json:"of"`
	Parts    []summary.Part    `json:"parts"`
	Segments []summary.Segment `json:"segments"`
}

func (r *result) writeJSON(w io.Writer) error {
	o := r.origin()
	start, end := r.store.Bounds()
	d := document{
		Read: r.report, LeftOut: r.report.LeftOut(), Runs: orEmpty(o.runs), Processes: o.processes, Ranks: orEmpty(o.ranks), Traces: o.traces,
		Start: start, End: end, Names: orEmpty(r.names), Steps: orEmpty(r.steps), Laggards: orEmpty(r.laggards),
	}
	if len(r.critical) > 0 {
		d.Critical = &criticalDocument{r.focus, summary.Parts(r.critical), r.critical}
	}
	if slices.Contains(r.show, "spans") {
		labels := r.store.Labels()
		for _, i := range r.chosen() {
			d.Spans = append(d.Spans, r.spanRow(labels, i))
		}
	}
	return writeIndented(w, d)
}

// orEmpty gives JSON [] instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (r *result) writeCSV(w io.Writer) error {
	section := "summary"
	if len(r.show) == 1 {
		section = r.show[0]
	}
	out := csv.NewWriter(w)
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	switch section {
	case "summary":
		_ = out.Write([]string{"name", "group", "count", "errors", "total_ns", "self_ns", "mean_ns", "p50_ns", "p95_ns", "max_ns"})
		for _, x := range r.names {
			_ = out.Write([]string{x.Name, x.Group, n(int64(x.Count)), n(int64(x.Errors)), n(x.Total), n(x.Self), strconv.FormatFloat(x.Mean, 'f', 1, 64), n(x.P50), n(x.P95), n(x.Max)})
		}
	case "steps":
		_ = out.Write([]string{"run", "step", "start_unix_ns", "duration_ns", "ranks", "slowest", "slowest_rank", "busy_ns", "lag_ns", "others_waited_ns"})
		for _, x := range r.steps {
			_ = out.Write([]string{x.Run, n(int64(x.Step)), n(x.Start), n(x.Duration), n(int64(x.Ranks)), x.Slowest, n(int64(x.SlowestRank)), n(x.Busy), n(x.Lag), n(x.Waited)})
		}
	case "critical":
		_ = out.Write([]string{"of", "process", "name", "start_unix_ns", "time_ns"})
		for _, x := range r.critical {
			_ = out.Write([]string{r.focus, x.Process, x.Name, n(x.Start), n(x.Time)})
		}
	case "spans", "waterfall":
		labels := r.store.Labels()
		_ = out.Write([]string{"start_unix_ns", "duration_ns", "process", "name", "group", "step", "rollout", "error", "trace_id", "span_id", "parent_span_id", "open"})
		for _, i := range r.chosen() {
			x := r.spanRow(labels, i)
			step := ""
			if x.Step != nil {
				step = n(int64(*x.Step))
			}
			_ = out.Write([]string{n(x.Start), n(x.Duration), x.Process, x.Name, x.Group, step, x.Rollout, strconv.FormatBool(x.Error), x.Trace, x.Span, x.Parent, strconv.FormatBool(x.Open)})
		}
	}
	out.Flush()
	return out.Error()
}
