package lens

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
)

// Main is the body of a main function: it sets telemetry up, calls run with a
// context that the first SIGINT or SIGTERM cancels, shuts telemetry down
// however run ends, and exits the process. The status is 0 when run returns
// nil, 128 and the number of the signal when run returns an error after one,
// else 1. Errors are written to standard error. A second signal ends the
// process at once. A signal that was ignored when the process started, as under
// nohup, stays ignored. A panic in run goes on after the shutdown.
//
// A program that has a main function of its own defers the Shutdown of its
// handle and, if it likes, calls [ShutdownOnSignal]. os.Exit and log.Fatal run
// no deferred function in any Go program, and lose what is still queued: return
// an error to main instead.
func Main(cfg Config, run func(context.Context) error, opts ...Option) {
	os.Exit(mainStatus(cfg, run, opts...))
}

func mainStatus(cfg Config, run func(context.Context) error, opts ...Option) (status int) {
	h, err := SetupTelemetry(context.Background(), cfg, opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	received := make(chan os.Signal, 1)
	if sigs := notIgnored(stopSignals); len(sigs) > 0 {
		signal.Notify(received, sigs...)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case sig := <-received:
			signal.Stop(received) // a second one has its own effect
			cancel(signalError{sig})
			// run may take longer to return than the scheduler waits before it
			// kills, so what has ended is sent now.
			_ = h.ForceFlush(context.Background())
		case <-ctx.Done():
			signal.Stop(received)
		}
	}()
	defer func() {
		cancel(nil)
		<-watched
		if err := h.Shutdown(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		var s signalError
		if errors.As(context.Cause(ctx), &s) {
			return 128 + signalNumber(s.Signal)
		}
		return 1
	}
	return 0
}

// notIgnored leaves out the signals that were ignored when the process started, as nohup
// and a shell's & have it: to ask for one would end that.
func notIgnored(sigs []os.Signal) []os.Signal {
	return slices.DeleteFunc(slices.Clone(sigs), signal.Ignored)
}

type signalError struct{ os.Signal }

// Is makes what a function returns for the cause of its context a cancellation.
func (signalError) Is(target error) bool { return target == context.Canceled }

func (e signalError) Error() string { return "received the signal " + e.String() }
