package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/semconv"
)

// row names a metric with one set of attributes, over all processes.
type row struct{ name, labels, unit string }

// value is such a metric in one process: the latest point, because sums and
// histograms are cumulative, and the highest value of a gauge.
type value struct {
	children.Point
	gauge   bool
	highest float64
}

// unlabelled are attributes that say what the process or the name says already.
var unlabelled = []string{
	"nemo.gym.server.type", "nemo.gym.server.worker", "process.pid",
	"network.protocol.name", "network.protocol.version", "url.scheme", "server.address", "server.port",
}

// elsewhere are metrics that other parts of the report show.
func elsewhere(name string) bool {
	return strings.HasPrefix(name, "otel.sdk.") || strings.HasPrefix(name, "nemo.lens.") || // what became of the spans
		name == "gym.server.startup_stage_duration_ms" // the trace of the start-up
}

func table(metrics []children.Metric) map[row]map[string]value {
	rows := make(map[row]map[string]value)
	for _, m := range metrics {
		if elsewhere(m.Name) {
			continue
		}
		process := processOf(m.Resource)
		for _, p := range m.Data.DataPoints {
			r := row{m.Name, labels(p.Attributes, process), m.Unit}
			if rows[r] == nil {
				rows[r] = make(map[string]value)
			}
			v, seen := rows[r][process]
			if !seen {
				v.highest = p.Value
			}
			rows[r][process] = value{p, m.Data.Temporality == "", max(v.highest, p.Value)}
		}
	}
	return rows
}

func labels(attrs children.Attributes, process string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		text := fmt.Sprint(attrs[key])
		if !slices.Contains(unlabelled, key) && (key != string(semconv.NeMoGymServerNameKey) || text != process) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
}

// writeMetrics prints a column for each process.
func writeMetrics(out io.Writer, processes []string, metrics []children.Metric) {
	rows := table(metrics)
	if len(rows) == 0 {
		fmt.Fprintln(out, "\nno metrics")
		return
	}
	fmt.Fprintln(out, "\nmetrics: n x mean for a histogram; (highest) behind a gauge that has fallen")
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nmetric\tby\tunit\t%s\n", strings.Join(processes, "\t"))
	inOrder := slices.SortedFunc(maps.Keys(rows), func(a, b row) int {
		return strings.Compare(a.name+" "+a.labels, b.name+" "+b.labels)
	})
	for _, r := range inOrder {
		unit, scale := r.scale()
		fmt.Fprintf(tw, "%s\t%s\t%s", r.name, r.labels, unit)
		for _, process := range processes {
			text := ""
			if v, ok := rows[r][process]; ok {
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

func (v value) text(scale float64) string {
	switch {
	case v.Count > 0:
		return fmt.Sprintf("%d x %s", v.Count, figures(v.Sum*scale/float64(v.Count)))
	case v.gauge && v.highest > v.Value:
		return figures(v.Value*scale) + " (" + figures(v.highest*scale) + ")"
	}
	return figures(v.Value * scale)
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
