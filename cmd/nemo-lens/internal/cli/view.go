package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/page"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/perfetto"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/internal/report/nearest"
)

// view is one call of the command.
type view struct {
	streams
	flags  viewFlags
	filter trace.Filter
	wait   *regexp.Regexp
	show   []string
	style  terminal.Style
}

type viewFlags struct {
	names, groups, traces, runs, rollouts []string
	ranks, steps, from, to                string
	errors                                bool

	show, sort, wait      string
	lines, width          int
	all, ascii            bool
	color                 string
	json, csv, follow     bool
	html, perfetto, other string
	maxSpans              int
}

// sections are what --show can name, in the order in which they are shown.
var sections = []string{"summary", "steps", "waterfall", "critical", "spans"}

func newView(s streams) *cobra.Command {
	v := &view{streams: s}
	cmd := &cobra.Command{
		Use:   "view FILE...",
		Short: "Show the spans in files: waterfall, summary, slowest ranks, critical path, page",
		Long: `view reads spans from files of any number of ranks: OTLP JSON lines, as the file exporter of
lens (EXPORTER=file) and the OpenTelemetry Collector write them, the output of the console
exporter, and the files of flight recorders (FLIGHT_DIR); mixed, and packed with gzip, too. A file
named - is standard input. What cannot be read is left out and counted.

A flight recorder keeps the last spans that finished and those that are open, also when its process
was killed. An open span is drawn to the last sign of life of its process and marked with >; times
count it as if it had ended then. A span that is in another file, too, is taken from there.

It shows a summary by span name, the slowest rank of each step, a waterfall and the critical
path. The step of a span is its attribute dl.iteration, or that of the nearest span around it.
A rank is slow by the time in which it did not wait: see --wait. The group of a span is its
attribute nemo.span.group, which the file exporter writes and no other; without it the last part
of the span's name counts: train.forward_backward is of the group forward_backward.`,
		Example: `  nemo-lens view spans-*.jsonl
  nemo-lens view --step 17 --show waterfall,critical spans-*.jsonl
  nemo-lens view --html run.html spans-*.jsonl
  nemo-lens view /dev/shm/flight/*.flight spans-*.jsonl
  nemo-lens view --compare yesterday/ spans-*.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	f := &v.flags
	set := cmd.Flags()
	set.SortFlags = false
	set.StringSliceVar(&f.names, "name", nil, "only spans with these names; * and ? as in file names")
	set.StringSliceVar(&f.groups, "group", nil, "only spans of these groups")
	set.StringVar(&f.ranks, "rank", "", "only these ranks, such as 0,3-5")
	set.StringVar(&f.steps, "step", "", "only these steps, such as 17 or 10-20")
	set.StringSliceVar(&f.rollouts, "rollout", nil, "only rollouts with these ids")
	set.StringSliceVar(&f.traces, "trace", nil, "only traces whose ids begin like this")
	set.StringSliceVar(&f.runs, "run", nil, "only runs whose ids begin like this")
	set.StringVar(&f.from, "from", "", "only spans that end after this time: 90s (after the first span) or 2026-01-31T12:00:00Z")
	set.StringVar(&f.to, "to", "", "only spans that start before this time")
	set.BoolVar(&f.errors, "errors", false, "only spans that failed")
	set.StringVar(&f.show, "show", "", "what to show, of "+strings.Join(sections, ", ")+" (default: all but spans)")
	set.StringVar(&f.sort, "sort", "self", "order of the summary: "+strings.Join(summary.Orders, ", "))
	set.StringVar(&f.wait, "wait", summary.DefaultWait, "names of spans in which a rank waits for others, a regular expression")
	set.IntVar(&f.lines, "lines", 40, "most lines of the waterfall and of each table; 0 for all")
	set.BoolVar(&f.all, "all", false, "give every span of the waterfall its own line")
	set.IntVar(&f.width, "width", 0, "columns (default: those of the terminal)")
	set.BoolVar(&f.ascii, "ascii", false, "draw with ASCII alone (default: where the locale is not UTF-8)")
	set.StringVar(&f.color, "color", "auto", "auto, always or never")
	set.BoolVar(&f.json, "json", false, "write everything as one JSON object")
	set.BoolVar(&f.csv, "csv", false, "write one of the tables as CSV: that of --show, else the summary")
	set.StringVar(&f.html, "html", "", "write a page with the timeline of all ranks to this file")
	set.StringVar(&f.perfetto, "perfetto", "", "write a trace for ui.perfetto.dev to this file")
	set.StringVar(&f.other, "compare", "", "an earlier run, a file or a folder of *.jsonl and *.flight: show what became slower since")
	set.BoolVar(&f.follow, "follow", false, "go on reading what is appended, and print each span")
	set.IntVar(&f.maxSpans, "max-spans", 20_000_000, "most spans to keep, 60 to 80 bytes of memory each")
	for name, values := range map[string][]string{"sort": summary.Orders, "show": sections, "color": {"auto", "always", "never"}} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// prepare checks the flags; every fault is the caller's.
func (v *view) prepare() error {
	f := &v.flags
	v.filter = trace.Filter{Names: f.names, Groups: f.groups, Traces: f.traces, Runs: f.runs, Rollouts: f.rollouts, Errors: f.errors}
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	var err error
	for flag, to := range map[string]*trace.Ranges{"rank": &v.filter.Ranks, "step": &v.filter.Steps} {
		if text := map[string]string{"rank": f.ranks, "step": f.steps}[flag]; text != "" {
			*to, err = trace.ParseRanges(text)
			fault(flag, err)
		}
	}
	if f.from != "" {
		v.filter.From, err = trace.ParseMoment(f.from)
		fault("from", err)
	}
	if f.to != "" {
		v.filter.To, err = trace.ParseMoment(f.to)
		fault("to", err)
	}
	if err := v.filter.Check(); err != nil {
		faults = append(faults, err)
	}
	fault("sort", summary.SortNames(nil, f.sort))
	v.wait, err = regexp.Compile(f.wait)
	fault("wait", err)
	v.show = nil
	for part := range strings.SplitSeq(f.show, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if !slices.Contains(sections, part) {
			near := ""
			if n, ok := nearest.Nearest(part, sections); ok {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			fault("show", fmt.Errorf("%q is none of %s%s", part, strings.Join(sections, ", "), near))
		}
		v.show = append(v.show, part)
	}
	v.style = terminal.Detect(v.out, v.env)
	if f.width > 0 {
		v.style.Width = f.width
	}
	v.style.ASCII = v.style.ASCII || f.ascii
	switch f.color {
	case "auto":
	case "always":
		v.style.Color = true
	case "never":
		v.style.Color = false
	default:
		fault("color", fmt.Errorf("%q is none of auto, always, never", f.color))
	}
	switch {
	case f.width < 0:
		fault("width", fmt.Errorf("%d is no width", f.width))
	case f.lines < 0:
		fault("lines", fmt.Errorf("%d is no number of lines", f.lines))
	case f.maxSpans < 1 || f.maxSpans > 1<<31-2:
		fault("max-spans", fmt.Errorf("%d is not between 1 and %d", f.maxSpans, 1<<31-2))
	case f.json && f.csv:
		faults = append(faults, errors.New("--json and --csv: choose one"))
	case f.csv && len(v.show) > 1:
		faults = append(faults, errors.New("--csv writes one table: name one with --show"))
	case f.follow && (f.other != "" || f.html != "" || f.perfetto != "" || f.csv || f.json):
		faults = append(faults, errors.New("--follow prints spans; it goes with filters and --show only"))
	}
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}

func (v *view) run(ctx context.Context, files []string) error {
	if err := v.prepare(); err != nil {
		return err
	}
	if len(files) == 0 {
		if isTerminal(v.in) {
			return usagef("name a file of spans, or - for standard input")
		}
		files = []string{"-"}
	}
	if v.style.Width < terminal.MinWidth {
		fmt.Fprintf(v.err, "nemo-lens view: %d columns are too few: this is laid out for %d; see --width and --json\n", v.style.Width, terminal.MinWidth)
		v.style.Width = terminal.MinWidth
	}
	if v.flags.follow {
		return v.follow(ctx, files)
	}
	keep := v.flags.html != "" || v.flags.perfetto != "" || slices.Contains(v.show, "spans")
	// Most of the memory is spans, without pointers: looking through it often
	// costs little, and keeps the rest small.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	store, report, failed, err := v.load(ctx, files, keep)
	if err != nil {
		return err
	}
	if err := v.present(ctx, store, report); err != nil {
		return err
	}
	if failed {
		return statusError(exitFailed)
	}
	return nil
}

// load reads all files. A file that cannot be used is reported on the way; it is
// an error only when no other could.
func (v *view) load(ctx context.Context, files []string, attributes bool) (*trace.Store, *trace.Report, bool, error) {
	store, report := trace.NewStore(attributes), &trace.Report{}
	progress := newProgress(v.err, files)
	defer progress.done()
	r := &trace.Reader{
		Store: store, Report: report, MaxSpans: v.flags.maxSpans, Keep: v.filter.Early(),
		Progress: func(read int64) { progress.at(read, report.Spans) },
	}
	failed := 0
	for _, name := range files {
		err := v.readFile(ctx, r, name)
		if err := ctx.Err(); err != nil {
			return nil, nil, false, err
		}
		if err != nil {
			progress.clear()
			fmt.Fprintf(v.err, "nemo-lens view: %s: %v\n", displayName(name), plain(err))
			failed++
		}
	}
	progress.clear()
	if failed == len(files) {
		return nil, nil, false, statusError(exitFailed)
	}
	store.Resolve(report)
	return store, report, failed > 0, nil
}

func displayName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// plain leaves out of an error the path that is said before it.
func plain(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (v *view) readFile(ctx context.Context, r *trace.Reader, name string) error {
	if name == "-" {
		if v.in == nil {
			return errors.New("it is closed")
		}
		return r.Read(ctx, "standard input", v.in)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return fmt.Errorf("it is a folder; name its files: %s", strings.TrimSuffix(name, "/")+"/*.jsonl")
	}
	if err == nil && isFlight(f, info) {
		return r.ReadFlight(name)
	}
	return r.Read(ctx, name, f)
}

// isFlight reports whether a file is that of a flight recorder. It does not move in the file.
func isFlight(f *os.File, info os.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	head := make([]byte, flight.MagicSize)
	n, _ := f.ReadAt(head, 0)
	return flight.HasMagic(head[:n])
}

// present writes what was asked for.
func (v *view) present(ctx context.Context, store *trace.Store, report *trace.Report) error {
	selected := v.filter.Select(store)
	res := &result{view: v, store: store, report: report, selected: selected}
	res.compute()
	f := &v.flags
	written := false
	if f.html != "" {
		err := v.writeFile(f.html, func(w io.Writer) error {
			return page.Write(w, store, selected, page.Data{
				Title: res.title(), Names: res.names, Steps: res.steps, Note: report.LeftOut(),
			})
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(v.err, "wrote %s: open it in a browser\n", f.html)
		if n := res.count(); n > 500_000 {
			fmt.Fprintf(v.err, "it holds %s spans, and browsers become slow above 500 000; choose with --step, --rank, --from and --to\n", terminal.Count(int64(n)))
		}
		written = true
	}
	if f.perfetto != "" {
		if err := v.writeFile(f.perfetto, func(w io.Writer) error { return perfetto.Write(w, store, selected) }); err != nil {
			return err
		}
		fmt.Fprintf(v.err, "wrote %s: open it at https://ui.perfetto.dev\n", f.perfetto)
		written = true
	}
	switch {
	case f.other != "":
		return v.compare(ctx, res)
	case f.json:
		return res.writeJSON(v.out)
	case f.csv:
		return res.writeCSV(v.out)
	case written && f.show == "":
		return nil
	}
	return res.writeText(v.out)
}

// writeFile writes a file whole or not at all; - is standard output.
func (v *view) writeFile(name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(v.out)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		_ = os.Remove(name)
		return err
	}
	return nil
}

// progress tells how far a long input has been read: on a terminal in one line
// that is written over, elsewhere in a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	total    int64
	begun    time.Time
	last     time.Time
	shown    bool
}

func newProgress(out io.Writer, files []string) *progress {
	p := &progress{out: out, terminal: isTerminal(out), begun: time.Now()}
	p.last = p.begun
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			p.total += info.Size()
		}
	}
	return p
}

func (p *progress) at(read, spans int64) {
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(p.begun) < time.Second || now.Sub(p.last) < every {
		return
	}
	p.last = now
	of := ""
	if p.total > read {
		of = fmt.Sprintf(" of %d", p.total>>20)
	}
	text := fmt.Sprintf("reading: %d%s MiB, %s spans", read>>20, of, terminal.Count(spans))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		p.shown = true
		return
	}
	fmt.Fprintln(p.out, text)
}

// clear takes the line away again.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) done() { p.clear() }
