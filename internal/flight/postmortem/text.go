package postmortem

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/codes"

	"github.com/nemo-lens/lens/internal/flight"
)

// TextOptions say how much is written.
type TextOptions struct {
	All bool // everything, not what one screen holds
}

// What one screen holds.
const (
	someGroups = 6
	someTrees  = 2
	someOpen   = 10 // spans of a tree
	someLast   = 4
	someFaults = 3
	wideRanks  = 70 // bytes of a list of ranks
)

// Text writes the report for people.
func (r *Report) Text(out io.Writer, o TextOptions) error {
	w := bufio.NewWriter(out)
	p := r.Processes[0]
	fmt.Fprintf(w, "run %s: %s", clean(cmp.Or(r.RunID, "without an id")), count(len(r.Processes), "process", "processes"))
	if r.WorldSize > 1 {
		fmt.Fprintf(w, " of %s", count(r.WorldSize, "rank", "ranks"))
	}
	seen := p.LastSeen
	for _, p := range r.Processes {
		if p.LastSeen.After(seen) {
			seen = p.LastSeen
		}
	}
	fmt.Fprintf(w, ", last sign of life %s\n", seen.UTC().Format("2006-01-02 15:04:05Z"))
	r.notes(w)
	fmt.Fprintln(w)
	r.textDiverged(w)
	groups := r.Groups
	if !o.All {
		groups = groups[:min(len(groups), someGroups)]
	}
	for _, g := range groups {
		fmt.Fprintf(w, "%s: %s\n", short(r.names(g.Processes), o.All), g.text())
	}
	if rest := len(r.Groups) - len(groups); rest > 0 {
		n := 0
		for _, g := range r.Groups[len(groups):] {
			n += len(g.Processes)
		}
		fmt.Fprintf(w, "%s more, in %s\n", count(n, "process", "processes"), count(rest, "other place", "other places"))
	}
	trees := r.Groups
	if !o.All {
		trees = trees[:min(len(trees), someTrees)]
	}
	for _, g := range trees {
		if err := r.textTree(w, g.Processes[0], o); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (r *Report) notes(w io.Writer) {
	if len(r.Missing) > 0 {
		fmt.Fprintf(w, "no file of %s %s\n", plural(len(r.Missing), "rank", "ranks"), short(Ranges(r.Missing), false))
	}
	if r.Earlier > 0 {
		fmt.Fprintf(w, "%s of processes that were restarted since %s left out\n", count(r.Earlier, "file", "files"), plural(r.Earlier, "is", "are"))
	}
	if n := len(r.OtherRuns); n > 0 {
		fmt.Fprintf(w, "%s here, too: %s\n", count(n, "other run is", "other runs are"), short(strings.Join(r.OtherRuns, ", "), false))
	}
	for i, err := range r.Unreadable {
		if i == someFaults {
			fmt.Fprintf(w, "%s more cannot be read\n", count(len(r.Unreadable)-i, "file", "files"))
			break
		}
		fmt.Fprintf(w, "not read: %s\n", clean(err.Error()))
	}
	noted := 0
	for _, p := range r.Processes {
		var notes []string
		if p.ClockJump != 0 {
			notes = append(notes, fmt.Sprintf("the clock of %s jumped by %s while it ran, so its ages are right to a second only", clean(p.Host), duration(p.ClockJump)))
		}
		if p.MissedOpen > 0 {
			notes = append(notes, fmt.Sprintf("%d more spans are open than the file has slots", p.MissedOpen))
		}
		if p.Absent > 0 {
			notes = append(notes, fmt.Sprintf("the file is cut short, %s may be missing", count(p.Absent, "span", "spans")))
		}
		if len(notes) == 0 {
			continue
		}
		if noted++; noted > someFaults {
			continue
		}
		fmt.Fprintf(w, "%s: %s\n", r.names([]*Process{p}), strings.Join(notes, "; "))
	}
	if noted > someFaults {
		fmt.Fprintf(w, "the same or the like of %s\n", count(noted-someFaults, "more process", "more processes"))
	}
}

func (r *Report) textDiverged(w io.Writer) {
	d := r.Diverged
	if d == nil {
		return
	}
	what := fmt.Sprintf("step %d", d.Step)
	if d.Span != "" {
		what = clean(d.Span) + " of " + what
	}
	of := len(d.Ahead) + len(d.Behind)
	if len(d.Ahead) < len(d.Behind) {
		fmt.Fprintf(w, "first to differ: %s finished %s, which the other %d of %d did not\n",
			short(r.names(d.Ahead), false), what, len(d.Behind), of)
		return
	}
	fmt.Fprintf(w, "first to differ: %s did not finish %s, which the other %d of %d did\n",
		short(r.names(d.Behind), false), what, len(d.Ahead), of)
}

func (g *Group) text() string {
	long := duration(g.Longest)
	if g.Longest-g.Shortest >= 2*time.Second {
		long = duration(g.Shortest) + " to " + long
	}
	var s string
	switch {
	case g.In != nil:
		s = "in " + g.In.text() + " for " + long
	case g.Last != nil:
		s = "in no span; finished " + g.Last.text() + " " + long + " before"
	default:
		s = "in no span, and none has finished"
	}
	switch g.State {
	case Closed:
		s += " (ended in order)"
	case Running:
		s += " (still running)"
	}
	return s
}

// textTree writes what one process has open and what it finished last. Its file is
// read again, because the trees of ten thousand are not kept.
func (r *Report) textTree(w io.Writer, p *Process, o TextOptions) error {
	f, err := flight.Read(p.Path)
	if err != nil {
		fmt.Fprintf(w, "\n%s: %s\n", r.names([]*Process{p}), clean(err.Error()))
		return nil
	}
	fmt.Fprintf(w, "\n%s, pid %d on %s", r.names([]*Process{p}), p.PID, clean(p.Host))
	if p.Restart > 0 {
		fmt.Fprintf(w, ", restart %d", p.Restart)
	}
	fmt.Fprintln(w, ":")
	roots, steps := r.tree(f)
	all := allNodes(roots)
	for i, n := range all {
		if i == someOpen && !o.All {
			fmt.Fprintf(w, "  … %s more open\n", count(len(all)-i, "span", "spans"))
			break
		}
		fmt.Fprintf(w, "  %9s  %s%s%s\n", duration(n.age), strings.Repeat("  ", min(n.depth, 20)), clean(n.span.Name), r.details(n.span))
	}
	ended := f.Ended
	if !o.All {
		ended = ended[:min(len(ended), someLast)]
	}
	if len(ended) > 0 {
		fmt.Fprintln(w, "  finished last:")
	}
	for i := range ended {
		s := &ended[i]
		failed := ""
		if s.Status == codes.Error {
			failed = ", with an error"
		}
		step := ""
		if n, ok := steps[s.SpanID]; ok {
			step = fmt.Sprintf(" of step %d", n)
		}
		fmt.Fprintf(w, "    %s%s, %s before the end, after %s%s\n", clean(s.Name), step,
			duration(p.LastSeen.Sub(s.End)), duration(s.End.Sub(s.Start)), failed)
	}
	return nil
}

// details are the group and the attributes of an open span.
func (r *Report) details(s *flight.Span) string {
	var parts []string
	if s.Group != "" {
		parts = append(parts, "["+clean(s.Group)+"]")
	}
	for _, kv := range s.Attributes {
		parts = append(parts, clean(string(kv.Key))+"="+clean(kv.Value.String()))
	}
	if s.Missing {
		parts = append(parts, "…")
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, " ")
}

// clean keeps what a file says from acting on a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\ufffd'
	}, s)
}

func short(s string, all bool) string {
	if all || len(s) <= wideRanks {
		return s
	}
	cut := strings.LastIndexByte(s[:wideRanks], ',')
	if cut < 0 {
		cut = wideRanks
	}
	return strings.ToValidUTF8(s[:cut], "") + ",…"
}

// duration is exact where it matters: 1.234s, 12.3s, 10m3s, 26h0m0s.
func duration(d time.Duration) string {
	switch abs := d.Abs(); {
	case abs >= time.Minute:
		d = d.Round(time.Second)
	case abs >= 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case abs >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case abs >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return d.String()
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func count(n int, one, more string) string { return fmt.Sprintf("%d %s", n, plural(n, one, more)) }
