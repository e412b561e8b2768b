//go:build !lens_noop

package lens

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
)

// ShutdownOnSignal shuts the handle down when the process gets one of the
// signals, by default SIGINT and SIGTERM, and then lets the signal end the
// process as it would have without lens, so that the exit status tells the
// truth. A second signal ends the process at once. The returned function takes
// the handler away again; call it, or defer it, before a normal Shutdown.
//
// It is for programs that do not handle these signals themselves: in one that
// does, call Shutdown from that code, or use [Main]. Signals that were ignored
// when the process started stay ignored. With a nil handle nothing is installed.
func ShutdownOnSignal(h *TelemetryHandle, sigs ...os.Signal) (stop func()) {
	if h == nil {
		return func() {}
	}
	if len(sigs) == 0 {
		sigs = stopSignals
	}
	if sigs = notIgnored(sigs); len(sigs) == 0 {
		return func() {} // without a signal Notify would take all of them
	}
	received := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(received, sigs...)
	go func() {
		select {
		case sig := <-received:
			signal.Stop(received) // a second one has its own effect
			if err := h.Shutdown(context.Background()); err != nil {
				log().Warn("shutdown on signal", fmt.Sprintf("shutting down on %q: %v", sig, err))
			}
			raise(sig)
		case <-done:
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			signal.Stop(received)
			close(done)
		})
	}
}
