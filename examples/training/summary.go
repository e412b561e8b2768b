package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens"
)

// spanSummary is a span processor that adds up the spans it is given, by name.
// It is safe for concurrent use.
type spanSummary struct {
	mu          sync.Mutex
	names       map[string]*nameSummary
	first, last time.Time // the earliest start and the latest end seen
}

type nameSummary struct {
	name  string
	count int
	total time.Duration
}

var _ sdktrace.SpanProcessor = (*spanSummary)(nil)

func newSpanSummary() *spanSummary { return &spanSummary{names: map[string]*nameSummary{}} }

func (s *spanSummary) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (s *spanSummary) OnEnd(span sdktrace.ReadOnlySpan) {
	start, end := span.StartTime(), span.EndTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[span.Name()]
	if n == nil {
		n = &nameSummary{name: span.Name()}
		s.names[n.name] = n
	}
	n.count++
	n.total += end.Sub(start)
	if s.first.IsZero() || start.Before(s.first) {
		s.first = start
	}
	if end.After(s.last) {
		s.last = end
	}
}

func (s *spanSummary) ForceFlush(context.Context) error { return nil }
func (s *spanSummary) Shutdown(context.Context) error   { return nil }

// write prints one line for each span name, the largest total first. The share
// is of the time from the first span's start to the last span's end; spans
// contain one another, so shares do not add up to 100 %.
func (s *spanSummary) write(w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]*nameSummary, 0, len(s.names))
	for _, n := range s.names {
		rows = append(rows, n)
	}
	slices.SortFunc(rows, func(a, b *nameSummary) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name))
	})
	run := s.last.Sub(s.first)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "span\tcount\ttotal\tmean\tshare of the run\t")
	for _, n := range rows {
		share := 100.0
		if run > 0 {
			share = 100 * float64(n.total) / float64(run)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%.1f %%\t\n", n.name, n.count, readable(n.total), readable(n.total/time.Duration(n.count)), share)
	}
	return table.Flush()
}

// readable keeps about four digits of a duration.
func readable(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 1000)
		}
	}
	return d
}

// report prints the table and what became of the spans.
func report(w io.Writer, telemetry *lens.TelemetryHandle, spans *spanSummary) {
	if !telemetry.IsExporting() {
		fmt.Fprintln(w, "no spans: telemetry is off (NEMO_LENS_ENABLED=1 switches it on)")
		return
	}
	stats := telemetry.Stats()
	if err := spans.write(w); err != nil {
		fmt.Fprintln(w, "training: the table could not be written:", err)
	}
	fmt.Fprintf(w, "spans: %d started, %d exported, %d lost (%d dropped, %d failed)\n",
		stats.Started, stats.Exported, stats.Dropped+stats.Failed, stats.Dropped, stats.Failed)
}
