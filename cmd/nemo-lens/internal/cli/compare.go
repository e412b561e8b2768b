package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/summary"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/internal/flight"
)

// compare shows what became slower since an earlier run.
func (v *view) compare(ctx context.Context, after *result) error {
	files, err := earlierFiles(v.flags.other)
	if err != nil {
		return err
	}
	store, report, failed, err := v.load(ctx, files, false)
	if err != nil {
		return err
	}
	before := &result{view: v, store: store, report: report, selected: v.filter.Select(store)}
	before.compute()
	c := summary.Compare(before.store, after.store, before.selected, after.selected, before.steps, after.steps)
	switch {
	case v.flags.json:
		err = writeIndented(v.out, c)
	case v.flags.csv:
		err = writeComparisonCSV(v.out, c)
	default:
		out := bufio.NewWriter(v.out)
		fmt.Fprint(out, "before: ")
		before.header(out)
		fmt.Fprint(out, "after:  ")
		after.header(out)
		if err := v.comparisonText(out, c); err != nil {
			return err
		}
		err = out.Flush()
	}
	if err == nil && failed {
		return statusError(exitFailed)
	}
	return err
}

// earlierFiles are the files of spans in a folder, or the one file.
func earlierFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		// A shell does not expand --compare=run1/*.jsonl.
		if found, globErr := filepath.Glob(name); globErr == nil && len(found) > 0 {
			return found, nil
		}
		return nil, usagef("--compare: %w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var found []string
	for _, pattern := range []string{"*.jsonl*", "*" + flight.Suffix} {
		more, err := filepath.Glob(filepath.Join(name, pattern))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		return nil, usagef("--compare: there is no *.jsonl and no *%s in the folder %s", flight.Suffix, name)
	}
	return found, nil
}

func percent(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

func (v *view) comparisonText(w io.Writer, c summary.Comparison) error {
	d := v.style.Duration
	signed := func(ns int64) string {
		if ns > 0 {
			return "+" + d(ns)
		}
		return d(ns)
	}
	between := "–"
	if v.style.ASCII {
		between = "-"
	}
	spread := func(s summary.Spread) string {
		if s.Count == 0 {
			return ""
		}
		return d(s.P25) + between + d(s.P75)
	}
	fmt.Fprintln(w)
	all := c.Names
	if c.Steps != nil {
		all = append([]summary.Change{*c.Steps}, all...)
		all[0].Name = "(whole steps)"
	}
	names, left := limit(all, v.flags.lines)
	rows := make([][]string, len(names))
	for i, n := range names {
		before, after := d(n.Before.P50), d(n.After.P50)
		if n.Before.Count == 0 {
			before = ""
		}
		if n.After.Count == 0 {
			after = ""
		}
		rows[i] = []string{
			v.style.Clean(n.Name), before, after, percent(n.Ratio), n.Verdict, d(n.Noise), spread(n.Before), spread(n.After),
			terminal.Count(int64(n.Before.Count)), terminal.Count(int64(n.After.Count)),
		}
	}
	err := v.style.Table(w, []terminal.Column{
		{Title: "SPAN"}, {Title: "P50 BEFORE"}, {Title: "P50 AFTER"}, {Title: "CHANGE"}, {Title: "VERDICT", Drop: 1}, {Title: "NOISE", Drop: 3},
		{Title: "P25" + between + "P75 BEFORE", Drop: 4}, {Title: "P25" + between + "P75 AFTER", Drop: 2}, {Title: "COUNT BEFORE", Drop: 6}, {Title: "COUNT AFTER", Drop: 5},
	}, rows, func(i int) string {
		return map[string]string{"slower": terminal.Red, "faster": "32"}[names[i].Verdict]
	})
	if err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(w, "and %d more names: --lines 0 shows all\n", left)
	}
	fmt.Fprintln(w, v.style.Paint(terminal.Faint, "slower and faster: the medians are further apart than noise, which is three standard errors, and by more than 1 %; of fewer than four, by more than 20 %"))
	if len(c.Each) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	each, left := limit(c.Each, min(max(v.flags.lines, 0), 10))
	rows = make([][]string, len(each))
	for i, s := range each {
		rows[i] = []string{strconv.Itoa(s.Step), d(s.Before), d(s.After), signed(s.Delta), percent(s.Ratio), v.style.Clean(s.Slowest)}
	}
	err = v.style.Table(w, []terminal.Column{
		{Title: "STEP"}, {Title: "BEFORE"}, {Title: "AFTER"}, {Title: "DELTA"}, {Title: "CHANGE", Drop: 2}, {Title: "SLOWEST AFTER", Drop: 1},
	}, rows, nil)
	if left > 0 {
		fmt.Fprintf(w, "and %d more steps: --lines 0 shows all\n", left)
	}
	return err
}

func writeComparisonCSV(w io.Writer, c summary.Comparison) error {
	out := csv.NewWriter(w)
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	_ = out.Write([]string{
		"name", "verdict", "before_p50_ns", "after_p50_ns", "delta_ns", "ratio", "noise_ns",
		"before_p25_ns", "before_p75_ns", "after_p25_ns", "after_p75_ns", "before_count", "after_count",
	})
	for _, x := range c.Names {
		_ = out.Write([]string{
			x.Name, x.Verdict, n(x.Before.P50), n(x.After.P50), n(x.Delta), strconv.FormatFloat(x.Ratio, 'f', 4, 64), n(x.Noise),
			n(x.Before.P25), n(x.Before.P75), n(x.After.P25), n(x.After.P75), n(int64(x.Before.Count)), n(int64(x.After.Count)),
		})
	}
	out.Flush()
	return out.Error()
}
