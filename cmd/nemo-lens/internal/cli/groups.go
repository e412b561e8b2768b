package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
	"github.com/nemo-lens/lens/gym"
)

// vocabularies are the classes of groups that lens itself has.
func vocabularies() []*lens.GroupClass { return []*lens.GroupClass{lens.BaseGroups, gym.SpanGroups} }

func newGroups(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "groups [SPEC]",
		Short: "List span groups and presets, or what a spec switches on",
		Long: `groups lists the span groups and presets of lens and of its package gym; with a SPEC, in the form
of NEMO_LENS_SPAN_GROUPS, what that switches on in each. A program may have groups of its own,
which are known to that program alone: nemo-lens cannot list them.

The exit status is 1 when an entry of the SPEC names nothing in any of them.`,
		Example: "  nemo-lens groups\n  nemo-lens groups default,step",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listGroups(s, asJSON)
			}
			return resolveGroups(s, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

type classDocument struct {
	Namespace string              `json:"namespace"`
	Groups    []string            `json:"groups"`
	Presets   map[string][]string `json:"presets"`
}

func texts(groups []lens.SpanGroup) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = string(g)
	}
	return out
}

func listGroups(s streams, asJSON bool) error {
	var classes []classDocument
	for _, c := range vocabularies() {
		d := classDocument{Namespace: c.Namespace(), Groups: texts(c.Groups().Groups()), Presets: map[string][]string{}}
		for name, set := range c.Presets() {
			d.Presets[name] = texts(set.Groups())
		}
		classes = append(classes, d)
	}
	if asJSON {
		return writeIndented(s.out, classes)
	}
	for i, c := range classes {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		presets := slices.SortedFunc(maps.Keys(c.Presets), func(a, b string) int {
			if d := len(c.Presets[a]) - len(c.Presets[b]); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		columns := []terminal.Column{{Title: strings.ToUpper(c.Namespace)}}
		for _, p := range presets {
			columns = append(columns, terminal.Column{Title: p})
		}
		rows := make([][]string, len(c.Groups))
		for r, g := range c.Groups {
			rows[r] = []string{g}
			for _, p := range presets {
				mark := ""
				if slices.Contains(c.Presets[p], g) {
					mark = "x"
				}
				rows[r] = append(rows[r], mark)
			}
		}
		if err := terminal.Detect(s.out, s.env).Table(s.out, columns, rows, nil); err != nil {
			return err
		}
	}
	return nil
}

type specDocument struct {
	Spec    string              `json:"spec"`
	Groups  map[string][]string `json:"groups"` // by namespace
	Unknown []string            `json:"unknown"`
}

func resolveGroups(s streams, spec string, asJSON bool) error {
	d := specDocument{Spec: spec, Groups: map[string][]string{}, Unknown: []string{}}
	missing := map[string]int{}
	var said error
	for _, c := range vocabularies() {
		set, err := c.Resolve(spec)
		d.Groups[c.Namespace()] = texts(set.Groups())
		var unknown *lens.UnknownGroupError
		if errors.As(err, &unknown) {
			for _, u := range unknown.Unknown {
				missing[u]++
			}
			if said == nil || len(unknown.Unknown) == 1 {
				said = err
			}
		} else if err != nil {
			return err
		}
	}
	for _, u := range slices.Sorted(maps.Keys(missing)) {
		if missing[u] == len(vocabularies()) {
			d.Unknown = append(d.Unknown, u)
		}
	}
	switch {
	case asJSON:
		if err := writeIndented(s.out, d); err != nil {
			return err
		}
	default:
		writeSpec(s.out, d)
	}
	if len(d.Unknown) == 0 {
		return nil
	}
	return fmt.Errorf("%s: no group or preset of lens; a program may have it. %s", strings.Join(d.Unknown, ", "), strings.TrimPrefix(plainText(said), "lens: "))
}

func plainText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func writeSpec(w io.Writer, d specDocument) {
	for _, c := range vocabularies() {
		groups := strings.Join(d.Groups[c.Namespace()], ",")
		if groups == "" {
			groups = "(none)"
		}
		fmt.Fprintf(w, "%s: %s\n", c.Namespace(), groups)
	}
}
