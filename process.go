package lens

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nemo-lens/lens/internal/identity/processstart"
	"github.com/nemo-lens/lens/internal/ossignal"
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
	h, err := SetupTelemetry(context.Background(), cfg, opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flush := func() { _ = h.ForceFlush(context.Background()) }
	end := func() {
		if err := h.Shutdown(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(ossignal.Run(run, flush, end, os.Stderr))
}

// ShutdownOnSignal shuts the handle down when the process gets one of the
// signals, by default SIGINT and SIGTERM, and then lets the signal end the
// process as it would have without lens, so that the exit status tells the
// truth. A second signal ends the process at once. The returned function takes
// the handler away again; call it, or defer it, before a normal Shutdown.
//
// It is for programs that do not handle these signals themselves: in one that
// does, call Shutdown from that code, or use [Main]. Signals that were ignored
// when the process started stay ignored. With a nil handle nothing is installed,
// nor in a build with the tag lens_noop.
func ShutdownOnSignal(h *TelemetryHandle, sigs ...os.Signal) (stop func()) {
	if !h.canShutDown() {
		return func() {}
	}
	if len(sigs) == 0 {
		sigs = ossignal.Stop
	}
	return ossignal.First(sigs, func(sig os.Signal) {
		if err := h.Shutdown(context.Background()); err != nil {
			warn("shutdown on signal", fmt.Sprintf("shutting down on %q: %v", sig, err))
		}
		ossignal.Raise(sig)
	})
}

// ProcessStartTime returns when the kernel created this process, to 10 ms, so
// that the time before main can be a span; see [EmitSpan]. It is known on Linux
// only; elsewhere the error wraps errors.ErrUnsupported.
func ProcessStartTime() (time.Time, error) { return processstart.Time() }
