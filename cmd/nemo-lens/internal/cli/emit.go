package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// exitNotSent is for spans that were right and did not arrive.
const exitNotSent = 2

func newEmit(s streams) *cobra.Command {
	var service string
	var args []string
	cmd := &cobra.Command{
		Use:   "emit-spans --service NAME --span NAME,START,END[,PARENT]...",
		Short: "Send spans with given times, from a script",
		Long: `emit-spans sends spans whose times are known, for example of the stages of a launch script. START
and END are seconds since 1970, with up to nine decimals; PARENT is the name of another of the
spans. An END that is at most 30 ms before its START is taken for the START; more is an error.

Where the spans go is decided by NEMO_LENS_EXPORTER and the other variables of lens, whatever
NEMO_LENS_ENABLED says. A trace that TRACEPARENT hands down is continued.

The exit status is 1 when a span is wrong: nothing is sent then. It is 2 when the spans could not
be sent.`,
		Example: "  nemo-lens emit-spans --service launcher --span launch,$T0,$T3 --span pull,$T1,$T2,launch",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if service == "" {
				return usagef("--service is missing")
			}
			if len(args) == 0 {
				return usagef("there is no --span")
			}
			return emit(cmd.Context(), s, service, args)
		},
	}
	cmd.Flags().StringVar(&service, "service", "", "service.name of the spans")
	cmd.Flags().StringArrayVar(&args, "span", nil, "NAME,START,END[,PARENT]; may be given several times")
	return cmd
}

// skew is by how much an end may be before its start.
var skew = big.NewRat(30, 1000)

// checkSpans reads all arguments and puts parents first.
func checkSpans(args []string) (ordered []spanArg, faults []string) {
	var spans []spanArg
	for _, text := range args {
		span, err := parseSpanArg(text)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		if behind := new(big.Rat).Sub(span.start, span.end); behind.Cmp(skew) > 0 {
			faults = append(faults, fmt.Sprintf("--span %q: the end is %s s before the start; at most 0.03 s is put down to clocks that differ", text, behind.FloatString(9)))
		}
		spans = append(spans, span)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	ordered, wrong := orderSpans(spans)
	for _, f := range wrong {
		faults = append(faults, f.String())
	}
	return ordered, faults
}

func emit(ctx context.Context, s streams, service string, args []string) error {
	spans, faults := checkSpans(args)
	if len(faults) > 0 {
		for _, f := range faults {
			fmt.Fprintln(s.err, "nemo-lens emit-spans:", f)
		}
		fmt.Fprintln(s.err, "nemo-lens emit-spans: nothing emitted")
		return statusError(exitFailed)
	}
	cfg, err := lens.FromEnv("", "", nil)
	if err != nil {
		return usageError{err}
	}
	cfg.Enabled, cfg.ServiceName, cfg.SpanGroups = true, service, string(lens.Job)
	cfg.TracesEnabled, cfg.MetricsEnabled, cfg.LogsEnabled = true, false, false
	var said bytes.Buffer
	handle, err := lens.SetupTelemetry(ctx, cfg, lens.WithLogger(quiet(&said)), lens.WithDetection(lens.Detection{SlurmNewer: true}),
		lens.WithExportStrategy(func(lens.Config, int, int) (bool, error) { return true, nil }))
	if err != nil {
		fmt.Fprintln(s.err, "nemo-lens emit-spans:", err)
		return statusError(exitNotSent)
	}
	parent := lens.ExtractEnv(ctx)
	contexts := map[string]trace.SpanContext{}
	var emitted error
	for _, span := range spans {
		above := parent
		if span.parent != "" {
			above = trace.ContextWithSpanContext(ctx, contexts[span.parent])
		}
		start, end := instant(span.start), instant(span.end)
		if end.Before(start) {
			end = start
			fmt.Fprintf(s.err, "nemo-lens emit-spans: %s ends before it starts; it is recorded as a moment\n", span.name)
		}
		sc, err := lens.EmitSpan(above, lens.Job, span.name, start, end)
		emitted = errors.Join(emitted, err)
		contexts[span.name] = sc
	}
	if err := errors.Join(emitted, handle.Shutdown(ctx)); err != nil {
		fmt.Fprintf(s.err, "%snemo-lens emit-spans: %v\n", said.String(), err)
		return statusError(exitNotSent)
	}
	if cfg.Exporter == "none" {
		fmt.Fprintln(s.err, "nemo-lens emit-spans: the exporter is \"none\": nothing was sent")
	}
	for _, span := range spans {
		below := ""
		if span.parent != "" {
			below = " -> " + span.parent
		}
		d := instant(span.end).Sub(instant(span.start))
		fmt.Fprintf(s.out, "%-34s %8.3fs%s\n", span.name, max(d, 0).Seconds(), below)
	}
	return nil
}

// quiet is a logger for what a command says only when something fails.
func quiet(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
