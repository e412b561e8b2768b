package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nemo-lens/lens/semconv"
)

// row is one metric with one set of attributes, over all processes.
type row struct {
	name, labels, unit string
	cells              map[string]*cell // by process
}

// cell is the metric in one process.
type cell struct {
	histogram, gauge bool
	count            uint64 // of a histogram
	sum              float64
	last, highest    float64 // of a sum or a gauge
}

// unlabelled are attributes that say what the process or the name says already.
var unlabelled = map[string]bool{
	"nemo.gym.server.type": true, "nemo.gym.server.worker": true, "process.pid": true,
	"network.protocol.name": true, "network.protocol.version": true, "url.scheme": true,
	"server.address": true, "server.port": true,
}

// elsewhere are metrics that other parts of the report show.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "otel.sdk.") || strings.HasPrefix(name, "nemo.lens.") || // what became of the spans
		name == "gym.server.startup_stage_duration_ms" // the trace of the start-up
}

// table makes the rows. Sums and histograms are cumulative, so that the last
// collection counts; of a gauge the highest value is kept beside the last one.
func table(collections []collection) []row {
	rows := make(map[[2]string]row)
	for _, c := range collections {
		for _, m := range c.metrics {
			if elsewhere(m.Name) {
				continue
			}
			for _, p := range m.Data.DataPoints {
				key := [2]string{m.Name, labelsOf(p.Attributes, c.process)}
				r, ok := rows[key]
				if !ok {
					r = row{name: m.Name, labels: key[1], unit: m.Unit, cells: make(map[string]*cell)}
					rows[key] = r
				}
				v := r.cells[c.process]
				if v == nil {
					v = &cell{highest: p.Value}
					r.cells[c.process] = v
				}
				v.histogram = p.Bounds != nil || p.Count > 0
				v.gauge = m.Data.Temporality == ""
				v.count, v.sum, v.last = p.Count, p.Sum, p.Value
				v.highest = max(v.highest, p.Value)
			}
		}
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.labels, b.labels))
	})
}

func labelsOf(attrs attributes, process string) string {
	var labels []string
	for _, kv := range attrs {
		text := fmt.Sprint(kv.Value.Value)
		if unlabelled[kv.Key] || kv.Key == string(semconv.NeMoGymServerNameKey) && text == process {
			continue
		}
		labels = append(labels, text)
	}
	return strings.Join(labels, " ")
}

// writeMetrics prints a column for each process.
func writeMetrics(out io.Writer, processes []string, collections []collection) {
	rows := table(collections)
	if len(rows) == 0 {
		fmt.Fprintln(out, "\nno metrics")
		return
	}
	fmt.Fprintln(out, "\nmetrics: n x mean for a histogram; (highest) behind a gauge that has fallen")
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nmetric\tby\tunit\t%s\n", strings.Join(processes, "\t"))
	for _, r := range rows {
		unit, scale := r.scale()
		fmt.Fprintf(tw, "%s\t%s\t%s", r.name, r.labels, unit)
		for _, process := range processes {
			text := ""
			if v := r.cells[process]; v != nil {
				text = v.text(scale)
			}
			fmt.Fprintf(tw, "\t%s", text)
		}
		fmt.Fprintln(tw)
	}
	_ = tw.Flush()
}

// scale is the unit to print, and what a value is multiplied by for it.
func (r row) scale() (unit string, factor float64) {
	switch {
	case r.unit == "By" && strings.Contains(r.name, "memory"):
		return "MiB", 1.0 / (1 << 20)
	case r.unit == "By":
		return "B", 1
	case r.unit == "s":
		return "ms", 1000
	case strings.HasPrefix(r.unit, "{"), r.unit == "1":
		return "", 1
	}
	return r.unit, 1
}

func (c *cell) text(scale float64) string {
	switch {
	case c.histogram && c.count == 0:
		return "0"
	case c.histogram:
		return fmt.Sprintf("%d x %s", c.count, figures(c.sum*scale/float64(c.count)))
	case c.gauge && c.highest > c.last:
		return figures(c.last*scale) + " (" + figures(c.highest*scale) + ")"
	}
	return figures(c.last * scale)
}

// figures prints whole numbers as they are, and three figures of others.
func figures(v float64) string {
	switch {
	case v == float64(int64(v)), v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v < 0.001:
		return strconv.FormatFloat(v, 'f', 5, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
