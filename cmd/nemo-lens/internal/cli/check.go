package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/terminal"
)

// exitOff is for a set-up that is right and switched off.
const exitOff = 3

type checkFlags struct {
	prefix, fallback string
	world            int
	timeout          time.Duration
	json             bool
}

func newCheck(s streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what the environment would make lens do, and whether the receivers take it",
		Long: `check reads the environment as lens.FromEnv and lens.SetupTelemetry do, and shows every setting
with the variable that it came from, the span groups, the ranks that would export, and where each
signal would go. It sends each receiver an empty request, and says in one line what is wrong and
what to change. Values of headers are never shown.

The exit status is 0 when all is well, 1 when a receiver does not take what would be sent, 2 when
the environment is wrong, and 3 when telemetry is switched off.`,
		Example: "  nemo-lens check\n  nemo-lens check --world-size 64 --prefix MEGATRON_OTEL --fallback-prefix NEMO_LENS",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.world < 0 {
				return usagef("--world-size %d: want a number of ranks", f.world)
			}
			return check(cmd.Context(), s, f)
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.prefix, "prefix", "", "prefix of the variables (default NEMO_LENS)")
	set.StringVar(&f.fallback, "fallback-prefix", "", "prefix of the variables that are read after these")
	set.IntVar(&f.world, "world-size", 0, "ranks of the job (default: as the launcher left it in the environment, else 1)")
	set.DurationVar(&f.timeout, "timeout", 3*time.Second, "longest that a receiver may take to answer; 0 asks none")
	set.BoolVar(&f.json, "json", false, "write JSON")
	return cmd
}

func check(ctx context.Context, s streams, f checkFlags) error {
	vocabulary := &lens.GroupRegistry{}
	for _, c := range vocabularies() {
		if err := vocabulary.Register(c); err != nil {
			return err
		}
	}
	cfg, unreadable := lens.FromEnv(f.prefix, f.fallback, vocabulary)
	rank := lens.WithRankFromEnv()
	if f.world > 0 {
		rank = lens.WithRank(0, f.world)
	}
	r := lens.Check(ctx, cfg, f.timeout, rank)
	if unreadable != nil {
		r.Problems = append([]error{unreadable}, r.Problems...)
	}
	status := exitOK
	for _, sig := range r.Signals {
		if sig.Err != nil {
			status = exitFailed
		}
	}
	switch {
	case len(r.Problems) > 0:
		status = exitUsage
	case status == exitOK && r.Off != "":
		status = exitOff
	}
	var err error
	if f.json {
		err = writeIndented(s.out, checkDocumentOf(r, status))
	} else {
		err = checkText(s, r)
	}
	if err == nil && status != exitOK {
		return statusError(status)
	}
	return err
}

func checkText(s streams, r lens.CheckReport) error {
	style := terminal.Detect(s.out, s.env)
	var rows [][]string
	for _, set := range r.Config.Settings() {
		rows = append(rows, []string{set.Name, style.Cut(style.Clean(set.Value), 60), set.Source})
	}
	if err := style.Table(s.out, []terminal.Column{{Title: "SETTING"}, {Title: "VALUE"}, {Title: "FROM", Drop: 1}}, rows, func(i int) string {
		if rows[i][2] == "default" {
			return terminal.Faint
		}
		return ""
	}); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\ngroups   %s\n", orNone(r.Groups.String()))
	fmt.Fprintf(s.out, "ranks    %d of %d export: %s\n", len(r.ExportingRanks), r.WorldSize, orNone(ranges(r.ExportingRanks)))
	for _, sig := range r.Signals {
		signalText(s.out, style, sig)
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(s.out, "warning ", style.Clean(strings.TrimPrefix(w, "lens: ")))
	}
	// What is wrong comes last, where it is seen.
	wrong := 0
	say := func(text string) {
		wrong++
		fmt.Fprintln(s.out, style.Paint(terminal.Red, "wrong    "+style.Clean(strings.TrimPrefix(text, "lens: "))))
	}
	for _, p := range r.Problems {
		for _, err := range each(p) {
			say(err.Error())
		}
	}
	for _, sig := range r.Signals {
		if sig.Err != nil {
			say(sig.Signal + ": " + strings.TrimPrefix(sig.Err.Error(), "lens: ") + advice(sig.Err))
		}
	}
	switch {
	case wrong == 0 && r.Off != "":
		fmt.Fprintln(s.out, "off      "+r.Off)
	case r.Off != "":
		say(r.Off)
	case wrong == 0:
		fmt.Fprintln(s.out, "all is well")
	}
	return nil
}

func signalText(w io.Writer, style terminal.Style, sig lens.SignalCheck) {
	text := fmt.Sprintf("%-8s ", sig.Signal)
	switch {
	case !sig.Enabled && sig.Off != "":
		text += "off: " + style.Clean(sig.Off)
	case !sig.Enabled:
		text += "off"
	case sig.Exporter == "none":
		text += "none"
	default:
		text += sig.Exporter
		if sig.Where != "" {
			text += " to " + style.Clean(sig.Where)
		}
		if len(sig.Headers) > 0 {
			text += ", headers " + style.Clean(strings.Join(sig.Headers, ", "))
		}
		switch {
		case sig.Err != nil:
			text += ": not taken"
		case sig.Asked:
			text += fmt.Sprintf(": taken in %s", style.Duration(int64(sig.Took)))
		}
	}
	fmt.Fprintln(w, text)
}

// advice is what to do about failures of the network, of which the exporter does not
// know whether they will pass.
func advice(err error) string {
	text := err.Error()
	for _, a := range []struct{ sign, advice string }{
		{"connection refused", "nothing listens there: start the receiver, or name another one in the endpoint"},
		{"actively refused", "nothing listens there: start the receiver, or name another one in the endpoint"},
		{"no such host", "nobody knows that host: check its name in the endpoint"},
		{"no route to host", "the network does not lead there: check the address in the endpoint"},
		{"no answer within", "it does not answer: check the address, the port, and the firewalls on the way"},
	} {
		if strings.Contains(text, a.sign) && !strings.Contains(text, "; ") {
			return "; " + a.advice
		}
	}
	return ""
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// ranges writes 0,1,2,5 as 0-2,5.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		part := strconv.Itoa(n[i])
		if j > i {
			part += "-" + strconv.Itoa(n[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// each takes joined errors apart.
func each(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

type checkDocument struct {
	Status   int               `json:"exit_status"`
	Off      string            `json:"off,omitempty"`
	RunID    string            `json:"run_id"`
	Settings []settingDocument `json:"settings"`
	Groups   []string          `json:"groups"`
	Rank     int               `json:"rank"`
	World    int               `json:"world_size"`
	Ranks    []int             `json:"exporting_ranks"`
	Signals  []signalDocument  `json:"signals"`
	Problems []string          `json:"problems"`
	Warnings []string          `json:"warnings"`
}

type settingDocument struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

type signalDocument struct {
	Signal   string   `json:"signal"`
	Enabled  bool     `json:"enabled"`
	Off      string   `json:"off,omitempty"`
	Exporter string   `json:"exporter"`
	Where    string   `json:"where,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Headers  []string `json:"header_names"`
	Asked    bool     `json:"asked"`
	Took     int64    `json:"took_ns,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func checkDocumentOf(r lens.CheckReport, status int) checkDocument {
	d := checkDocument{
		Status: status, Off: r.Off, RunID: r.RunID, Groups: orEmpty(texts(r.Groups.Groups())), Rank: r.Rank, World: r.WorldSize,
		Ranks: orEmpty(r.ExportingRanks), Signals: []signalDocument{}, Problems: []string{}, Warnings: orEmpty(r.Warnings),
	}
	for _, set := range r.Config.Settings() {
		d.Settings = append(d.Settings, settingDocument(set))
	}
	for _, p := range r.Problems {
		for _, err := range each(p) {
			d.Problems = append(d.Problems, err.Error())
		}
	}
	for _, sig := range r.Signals {
		sd := signalDocument{
			Signal: sig.Signal, Enabled: sig.Enabled, Off: sig.Off, Exporter: sig.Exporter, Where: sig.Where, Protocol: sig.Protocol,
			Headers: orEmpty(sig.Headers), Asked: sig.Asked, Took: int64(sig.Took),
		}
		if sig.Err != nil {
			sd.Error = sig.Err.Error() + advice(sig.Err)
		}
		d.Signals = append(d.Signals, sd)
	}
	return d
}
