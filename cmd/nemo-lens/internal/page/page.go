// Package page writes one HTML file with the spans of all processes on a timeline
// that can be zoomed, searched and selected from. The file needs nothing else:
// its policy forbids every request.
package page

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/lanes"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/trace"
)

//go:embed page.html
var frame string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Data is what the page shows beside the spans.
type Data struct {
	Title string
	Names []summary.Name
	Steps []summary.Step
	Note  string // what was left out, if anything
}

// Write writes the page with the chosen spans; selected nil chooses all.
func Write(w io.Writer, s *trace.Store, selected []bool, d Data) error {
	out := bufio.NewWriterSize(w, 1<<18)
	before, after, ok := strings.Cut(frame, "%DATA%")
	if !ok {
		return fmt.Errorf("the page has no place for its data")
	}
	fill := strings.NewReplacer("%TITLE%", html.EscapeString(d.Title), "%STYLE%", style, "%SCRIPT%", script,
		"%SCRIPTHASH%", hash(script), "%STYLEHASH%", hash(style))
	if _, err := fill.WriteString(out, before); err != nil {
		return err
	}
	if err := writeData(out, s, selected, d); err != nil {
		return err
	}
	if _, err := fill.WriteString(out, after); err != nil {
		return err
	}
	return out.Flush()
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

type process struct {
	Label string   `json:"label"`
	Host  string   `json:"host"`
	Run   string   `json:"run"`
	Rows  [][2]int `json:"rows"` // where the spans of each row begin and end
}

// writeData writes one JSON object. The spans are columns of numbers, ordered by
// process, row and start.
func writeData(w *bufio.Writer, s *trace.Store, selected []bool, d Data) error {
	first, last := s.Bounds()
	labels := s.Labels()
	rows := lanes.Rows(s, selected)
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &s.Processes[a], &s.Processes[b]
		return cmp.Or(cmp.Compare(x.Run, y.Run), cmp.Compare(x.Rank, y.Rank))
	})
	var spans []uint32
	var processes []process
	number := make([]int32, s.Len()) // of each span on the page
	for i := range number {
		number[i] = trace.None
	}
	for _, p := range order {
		if len(rows[p]) == 0 {
			continue
		}
		shown := process{Label: labels[p], Host: s.Processes[p].Host, Run: s.Processes[p].Run}
		for _, place := range rows[p] {
			at := len(spans)
			if place.Lane >= len(shown.Rows) {
				shown.Rows = append(shown.Rows, [2]int{at, at})
			}
			shown.Rows[place.Lane][1] = at + 1
			number[place.Index] = int32(at)
			spans = append(spans, place.Index)
		}
		processes = append(processes, shown)
	}
	traces := make([]string, s.Traces())
	for i := range traces {
		id := s.TraceID(uint32(i))
		traces[i] = hex.EncodeToString(id[:])
	}
	attrs := []string{"{}"}
	if s.AttrTexts != nil {
		attrs = s.AttrTexts.Texts()
	}
	head, err := json.Marshal(map[string]any{
		"title": d.Title, "note": d.Note, "start": time.Unix(0, first).UTC().Format(time.RFC3339Nano), "length": last - first,
		"names": s.Names.Texts(), "traces": traces, "attrs": attrs, "rollouts": s.Rollouts.Texts(),
		"processes": processes, "summary": d.Names, "steps": d.Steps,
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(head[:len(head)-1]); err != nil {
		return err
	}
	column := func(name string, value func(i int, span *trace.Span) int64) {
		fmt.Fprintf(w, ",%q:[", name)
		var b []byte
		for k, i := range spans {
			b = b[:0]
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, value(int(i), s.At(int(i))), 10)
			_, _ = w.Write(b)
		}
		_ = w.WriteByte(']')
	}
	column("t", func(_ int, span *trace.Span) int64 { return span.Start - first })
	column("d", func(_ int, span *trace.Span) int64 { return span.Duration })
	column("n", func(_ int, span *trace.Span) int64 { return int64(span.Name) })
	column("u", func(_ int, span *trace.Span) int64 {
		if span.Parent == trace.None {
			return trace.None
		}
		return int64(number[span.Parent])
	})
	column("c", func(_ int, span *trace.Span) int64 { return int64(span.Trace) })
	column("k", func(_ int, span *trace.Span) int64 { return int64(span.Step) })
	column("o", func(_ int, span *trace.Span) int64 { return int64(span.Rollout) })
	column("e", func(_ int, span *trace.Span) int64 {
		return int64(span.Flags & (trace.FlagError | trace.FlagTruncated | trace.FlagOpen))
	})
	column("a", func(i int, _ *trace.Span) int64 {
		if s.AttrTexts == nil {
			return 0
		}
		return int64(s.AttributesNumber(i))
	})
	_, _ = w.WriteString(`,"i":"`) // ids: 16 digits each, as numbers in JavaScript have 53 bits
	for _, i := range spans {
		fmt.Fprintf(w, "%016x", s.At(int(i)).ID)
	}
	_, err = w.WriteString(`"}`)
	return err
}
