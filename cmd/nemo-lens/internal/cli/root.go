// Package cli is the command line of nemo-lens: it reads flags, calls the
// packages that do the work, and turns errors into one line and an exit status.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nemo-lens/lens/internal/report/nearest"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
}

// usageError is the caller's to mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// statusError ends the program with a status when everything has been said.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	return run(context.Background(), args, streams{os.Stdin, os.Stdout, os.Stderr, os.Getenv})
}

// run returns the exit status. Whatever happens, what the user sees is a line.
func run(ctx context.Context, args []string, s streams) (status int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(s.err, "nemo-lens: a fault of nemo-lens itself (%v at %s); please report it at https://github.com/nemo-lens/lens/issues\n", v, panicPlace())
			status = exitFailed
		}
	}()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(s)
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for the program's own
	cmd, err := root.ExecuteContextC(ctx)
	return exitStatus(s.err, cmd, err)
}

func exitStatus(stderr io.Writer, cmd *cobra.Command, err error) int {
	var usage usageError
	var code statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted\n", cmd.CommandPath())
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	return exitFailed
}

// panicPlace is the file and line of the innermost call of this module.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "nemo-lens/lens/") {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "nemo-lens",
		Short: "Look at the spans of a run, check a set-up, and emit spans from scripts",
		Long: "nemo-lens shows what a run recorded without any backend, and helps where programs are\n" +
			"launched. Every command has an example in its --help.",
		Example:       "  nemo-lens view spans-*.jsonl\n  nemo-lens view --html run.html spans-*.jsonl",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("a command is missing; the commands are %s", strings.Join(commandNames(cmd), ", "))
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newView(s), newRecover(s), newCheck(s), newGroups(s), newRun(s), newEmit(s), newSetSlurm(s), newMan(s))
	return root
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func unknownCommand(root *cobra.Command, name string) error {
	names := commandNames(root)
	if near, ok := nearest.Nearest(name, names); ok {
		return usagef("there is no command %q; did you mean %q?", name, near)
	}
	if _, err := os.Stat(name); err == nil {
		return usagef("there is no command %q; did you mean \"nemo-lens view %s\"?", name, name)
	}
	return usagef("there is no command %q; the commands are %s", name, strings.Join(names, ", "))
}

// flagError adds the nearest flag to what is said of an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := strings.SplitN(unknown.GetSpecifiedName(), "=", 2)[0]
		if near, ok := nearest.Nearest(name, names); ok {
			return usagef("there is no flag --%s; did you mean --%s?", name, near)
		}
	}
	return usageError{err}
}
