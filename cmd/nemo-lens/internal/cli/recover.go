package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nemo-lens/lens/internal/export/otlp"
	"github.com/nemo-lens/lens/internal/flight/postmortem"
	"github.com/nemo-lens/lens/internal/settings"
)

type recoverFlags struct {
	run, step         string
	all, json, export bool
}

func newRecover(s streams) *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use:   "recover DIR",
		Short: "Show what every process of a run was doing when it ended, also after kill -9",
		Long: `recover reads the files that processes with NEMO_LENS_FLIGHT_DIR keep, in the folder DIR, and
shows where each was at its last sign of life, equal ranks as one; who was first not to finish
what the others finished; and the open spans of the odd ones as a tree. The step of a span is
its attribute dl.iteration, or that of the nearest span around it. Of several runs the one
that started last is shown, and of a rank that was restarted the last process.

--export sends the open spans of dead processes to the collector that NEMO_LENS_ENDPOINT or
OTEL_EXPORTER_OTLP_ENDPOINT names, marked as truncated, each in its own trace with the ids it
had. A file beside that of the process says that it was done; calling it again adds nothing.`,
		Example: `  nemo-lens recover /dev/shm/flight
  nemo-lens recover --json /shared/flight > hang.json
  OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317 nemo-lens recover --export /shared/flight`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("recover takes one folder, %d given", len(args))
			}
			return runRecover(cmd.Context(), s, args[0], f)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.run, "run", "", "the run with this id (default: the one that started last)")
	set.StringVar(&f.step, "step-attribute", postmortem.StepKey, "the attribute that numbers the steps")
	set.BoolVar(&f.all, "all", false, "show everything, not what fits on a screen")
	set.BoolVar(&f.json, "json", false, "write everything as one JSON object")
	set.BoolVar(&f.export, "export", false, "send the open spans of dead processes to the collector")
	return cmd
}

func runRecover(ctx context.Context, s streams, dir string, f recoverFlags) error {
	report, err := postmortem.Load(ctx, dir, postmortem.Options{RunID: f.run, StepKey: f.step})
	if err != nil {
		return err
	}
	if f.json {
		err = report.JSON(s.out)
	} else {
		err = report.Text(s.out, postmortem.TextOptions{All: f.all})
	}
	if err != nil || !f.export {
		return err
	}
	return exportOpen(ctx, s, report)
}

func exportOpen(ctx context.Context, s streams, report *postmortem.Report) error {
	lookup := func(name string) (string, bool) {
		text := s.env(name)
		return text, text != ""
	}
	own := settings.Own{}
	for _, key := range []string{"ENDPOINT", "PROTOCOL", "HEADERS", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		name := "NEMO_LENS_" + key
		own[key] = settings.Setting{Name: name, Text: s.env(name)}
	}
	settings, warnings, err := settings.ParseOTLP(settings.Traces, own, lookup)
	for _, w := range warnings {
		fmt.Fprintf(s.err, "nemo-lens recover: %s\n", w)
	}
	if err != nil {
		return usageError{err}
	}
	exporter, err := otlp.NewTraceExporter(ctx, settings, nil)
	if err != nil {
		return usageError{err}
	}
	done, err := report.Export(ctx, exporter)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = errors.Join(err, exporter.Shutdown(ending))
	fmt.Fprintf(s.err, "nemo-lens recover: %d open spans of %d processes were sent to %s", done.Spans, done.Processes, otlp.Describe(settings))
	if done.Before > 0 {
		fmt.Fprintf(s.err, "; those of %d had been sent before", done.Before)
	}
	if done.Alive > 0 {
		fmt.Fprintf(s.err, "; %d processes are running and were left out", done.Alive)
	}
	fmt.Fprintln(s.err)
	return err
}
