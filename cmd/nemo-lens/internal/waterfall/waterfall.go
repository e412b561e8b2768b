// Package waterfall draws spans as lines with bars over a common time, each
// below the span that it is part of.
package waterfall

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

// Options decide what is drawn.
type Options struct {
	Roots    []uint32 // spans to begin with
	Selected []bool   // nil: all
	Lines    int      // at most so many; 0: no limit
	All      bool     // every span has its own line
}

// row is one line: a span, or all further ones of its name beside it.
type row struct {
	spans []uint32
	depth int
	name  string
	from  uint32 // process
}

// Draw writes the waterfall. It returns how many lines did not fit.
func Draw(w io.Writer, style terminal.Style, s *trace.Store, o Options) (left int, err error) {
	if len(o.Roots) == 0 {
		return 0, nil
	}
	var rows []row
	// Fewer lines of the same kind when there are too many.
	for _, alike := range []int{3, 2, 1} {
		if o.All {
			alike = math.MaxInt
		}
		rows = rows[:0]
		collect(s, o, o.Roots, 0, alike, &rows)
		if o.Lines == 0 || len(rows) <= o.Lines || o.All {
			break
		}
	}
	if o.Lines > 0 && len(rows) > o.Lines {
		rows, left = shorten(rows, o.Lines)
	}
	d := newDrawing(style, s, rows)
	for i := range rows {
		if _, err := io.WriteString(w, d.line(&rows[i])+"\n"); err != nil {
			return left, err
		}
	}
	return left, nil
}

// shorten leaves out the deepest rows first, and then the last.
func shorten(rows []row, most int) (kept []row, left int) {
	total := len(rows)
	for depth := deepest(rows); len(rows) > most && depth > 1; depth-- {
		var shallow []row
		for _, r := range rows {
			if r.depth < depth {
				shallow = append(shallow, r)
			}
		}
		if len(shallow) < most/2 {
			break
		}
		rows = shallow
	}
	if len(rows) > most {
		rows = rows[:most]
	}
	return rows, total - len(rows)
}

func deepest(rows []row) (d int) {
	for _, r := range rows {
		d = max(d, r.depth)
	}
	return d
}

// collect adds the rows of siblings. Of those that are alike, which is of one
// name and one process, the first few have rows of their own.
func collect(s *trace.Store, o Options, siblings []uint32, depth, alike int, rows *[]row) {
	const maxDepth = 200
	type key struct{ name, process uint32 }
	total, seen := map[key]int{}, map[key]int{}
	for _, i := range siblings {
		span := s.At(int(i))
		total[key{span.Name, span.Process}]++
	}
	merged := map[key]int{} // position in rows
	for _, i := range siblings {
		span := s.At(int(i))
		k := key{span.Name, span.Process}
		below := depth
		if o.Selected == nil || o.Selected[i] {
			seen[k]++
			// A row for one more is no longer than that one's own.
			if seen[k] > alike && total[k] > alike+1 {
				at, ok := merged[k]
				if !ok {
					at = len(*rows)
					merged[k] = at
					*rows = append(*rows, row{depth: depth, name: s.Name(span), from: span.Process})
				}
				(*rows)[at].spans = append((*rows)[at].spans, i)
				continue
			}
			*rows = append(*rows, row{spans: []uint32{i}, depth: depth, name: s.Name(span), from: span.Process})
			below++
		}
		if depth < maxDepth {
			collect(s, o, s.Children(int(i)), below, alike, rows)
		}
	}
}

type drawing struct {
	style      terminal.Style
	s          *trace.Store
	start, end int64
	label, bar int // columns
	labels     []string
	ranks      bool
}

const durationColumns = 8

func newDrawing(style terminal.Style, s *trace.Store, rows []row) *drawing {
	d := &drawing{style: style, s: s, labels: s.Labels()}
	first, open := true, 0
	process := rows[0].from
	for _, r := range rows {
		for _, i := range r.spans {
			span := s.At(int(i))
			if first || span.Start < d.start {
				d.start = span.Start
			}
			if first || span.End() > d.end {
				d.end = span.End()
			}
			first = false
			if span.Open() {
				open = 1 // for the mark behind the bar
			}
		}
		d.ranks = d.ranks || process != r.from
	}
	width := max(style.Width, terminal.MinWidth)
	longest := 0
	for i := range rows {
		longest = max(longest, terminal.Columns(d.text(&rows[i])))
	}
	d.label = min(longest, width*45/100)
	d.bar = width - d.label - durationColumns - 4 - open
	return d
}

// text is what stands on the left of a row.
func (d *drawing) text(r *row) string {
	text := strings.Repeat("  ", r.depth)
	if d.ranks {
		text += d.style.Clean(d.labels[r.from]) + " "
	}
	text += d.style.Clean(r.name)
	if len(r.spans) > 1 {
		times := "×"
		if d.style.ASCII {
			times = "x"
		}
		text += fmt.Sprintf(" %s%d more", times, len(r.spans))
		return text
	}
	if span := d.s.At(int(r.spans[0])); span.Step != trace.None && (span.Parent == trace.None || d.s.At(int(span.Parent)).Step != span.Step) {
		text += fmt.Sprintf(" #%d", span.Step)
	}
	return text
}

func (d *drawing) line(r *row) string {
	var total int64
	failed, open := 0, false
	for _, i := range r.spans {
		span := d.s.At(int(i))
		total += span.Duration
		if span.Error() {
			failed++
		}
		open = open || span.Open()
	}
	duration := d.style.Duration(total)
	duration = strings.Repeat(" ", max(0, durationColumns-terminal.Columns(duration))) + duration
	color := palette(&d.s.Processes[r.from], r.from)
	if failed > 0 {
		color = terminal.Red
	}
	edge := "│"
	if d.style.ASCII {
		edge = "|"
	}
	end := ""
	if failed > 0 {
		end = "!"
	}
	if open { // it goes on
		end = ">" + end
	}
	return d.style.Fit(d.text(r), d.label) + " " + duration + " " + edge + d.style.Paint(color, d.bars(r)) + edge + end
}

// palette gives neighbouring ranks different colours, and servers, too.
func palette(p *trace.Process, number uint32) string {
	n := int(number)
	if p.Server == "" && p.Rank >= 0 {
		n = p.Rank
	}
	return []string{"36", "32", "33", "35", "34", "96"}[n%6]
}

// bars draws the spans of a row. Each cell shows which share of its time any of
// them ran.
func (d *drawing) bars(r *row) string {
	covered := make([]float64, d.bar)
	scale := float64(d.bar) / float64(max(d.end-d.start, 1))
	for _, i := range r.spans {
		span := d.s.At(int(i))
		from, to := float64(span.Start-d.start)*scale, float64(span.End()-d.start)*scale
		first := min(int(from), d.bar-1)
		covered[first] = max(covered[first], 0.01) // something shows of the shortest span
		for c := first; c < d.bar && float64(c) < to; c++ {
			covered[c] += math.Min(to, float64(c+1)) - math.Max(from, float64(c))
		}
	}
	ramp := []string{" ", "░", "▒", "▓", "█"}
	if len(r.spans) == 1 {
		ramp = []string{" ", "▏", "▌", "▊", "█"}
	}
	if d.style.ASCII {
		ramp = []string{" ", ".", "-", "=", "#"}
	}
	var out strings.Builder
	for c, share := range covered {
		n := 0
		if share > 0 {
			n = min(1+int(share*4), 4)
		}
		// Blocks fill a cell from its left; the beginning of a bar is on the right.
		if len(r.spans) == 1 && !d.style.ASCII && n > 0 && n < 4 && c+1 < len(covered) && covered[c+1] > 0 {
			out.WriteString(map[bool]string{true: "▐", false: "▕"}[n > 1])
			continue
		}
		out.WriteString(ramp[n])
	}
	return out.String()
}
