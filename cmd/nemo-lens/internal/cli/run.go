package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens"
)

// Exit statuses of run when there is no child, as shells have them.
const (
	exitNoPermission = 126
	exitNotFound     = 127
	exitSignal       = 128 // and the number of the signal
)

func newRun(s streams) *cobra.Command {
	var name string
	var attrs []string
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG]...",
		Short: "Run a command inside a span",
		Long: `run starts COMMAND, with a span of the group job around it. The command gets the trace in
TRACEPARENT, the run id and the resource attributes in OTEL_RESOURCE_ATTRIBUTES, so that its own
spans are part of the same trace and run. Signals are passed on to it.

The span holds the name of the command, its process id and its exit status, and never its
arguments. Telemetry is set up from the environment, as in any program with lens: without
NEMO_LENS_ENABLED=1 the command just runs, and so it does when telemetry cannot be set up.

The exit status is that of the command; 128 and the number of the signal when it was killed, 126
when it cannot be run, 127 when there is none.`,
		Example: "  NEMO_LENS_ENABLED=1 nemo-lens run --name train -- python train.py --lr 0.1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("there is no command; write it behind --")
			}
			given, err := parseAttrs(attrs)
			if err != nil {
				return err
			}
			// The child is told of a signal; it is not killed for one.
			return runChild(context.WithoutCancel(cmd.Context()), s, name, given, args)
		},
	}
	// What follows the command belongs to it.
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&name, "name", "", "name of the span (default: that of the command)")
	cmd.Flags().StringArrayVar(&attrs, "attr", nil, "an attribute of the span, KEY=VALUE; may be given several times")
	return cmd
}

func parseAttrs(texts []string) (out []attribute.KeyValue, err error) {
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return nil, usagef("--attr %q: want KEY=VALUE", text)
		}
		out = append(out, attribute.String(strings.TrimSpace(key), value))
	}
	return out, nil
}

func runChild(ctx context.Context, s streams, name string, attrs []attribute.KeyValue, args []string) error {
	cfg, err := lens.FromEnv("", "", nil)
	var handle *lens.TelemetryHandle // of no effect when it is nil
	if err == nil {
		handle, err = lens.SetupTelemetry(ctx, cfg, lens.WithRankFromEnv())
	}
	if err != nil {
		fmt.Fprintln(s.err, "nemo-lens run: the command runs without telemetry:", err)
	}
	base := filepath.Base(args[0])
	if name == "" {
		name = base
	}
	status, err := spanOfChild(lens.ExtractEnv(ctx), s, handle, name, append(attrs, attribute.String("process.executable.name", base)), args)
	if failed := handle.Shutdown(ctx); failed != nil {
		fmt.Fprintln(s.err, "nemo-lens run: telemetry is incomplete:", failed)
	}
	if err != nil {
		fmt.Fprintln(s.err, "nemo-lens run:", err)
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}

// spanOfChild runs the child and returns its status, and an error when there was none.
func spanOfChild(ctx context.Context, s streams, handle *lens.TelemetryHandle, name string, attrs []attribute.KeyValue, args []string) (status int, err error) {
	ctx, span := lens.ManagedSpan(ctx, lens.Job, name, attrs...)
	var failure error // of the child, for the span
	defer lens.End(span, &failure)

	child := exec.Command(args[0], args[1:]...)
	child.Stdin, child.Stdout, child.Stderr = s.in, s.out, s.err
	child.Env = handle.ChildEnv(ctx, os.Environ())
	// Signals that come before the child is there wait in the channel.
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn(isTerminal(s.in))...)
	defer signal.Stop(signals)
	if err := child.Start(); err != nil {
		failure = errors.New("the command cannot be started")
		status = exitNotFound
		if errors.Is(err, fs.ErrPermission) {
			status = exitNoPermission
		}
		span.SetAttributes(attribute.Int("process.exit.code", status))
		return status, err
	}
	span.SetAttributes(attribute.Int("process.pid", child.Process.Pid))
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				_ = child.Process.Signal(sig)
			case <-done:
				return
			}
		}
	}()
	waited := child.Wait()
	close(done)
	status, failure = outcome(child.ProcessState, waited)
	record(span, status)
	return status, nil
}

func record(span trace.Span, status int) {
	span.SetAttributes(attribute.Int("process.exit.code", status))
}

// outcome is the exit status of a child that has ended, and what its span says.
func outcome(state *os.ProcessState, waited error) (int, error) {
	if number, name, ok := killedBy(state); ok {
		return exitSignal + number, fmt.Errorf("killed by %s", name)
	}
	code := state.ExitCode()
	if code < 0 {
		return exitFailed, waited
	}
	if code > 0 {
		return code, fmt.Errorf("exit status %d", code)
	}
	return exitOK, nil
}
