// Package ossignal handles the signals that a process gets: one call for each of them or
// for the first, and what the exit status says of it. A handler that was taken away
// leaves a signal the effect that it had before.
package ossignal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// Stop are the signals that ask a process to end.
var Stop = []os.Signal{os.Interrupt, syscall.SIGTERM}

// Status is the exit status of a process that ends because of the signal.
func Status(sig os.Signal) int {
	s, _ := sig.(syscall.Signal)
	return 128 + int(s)
}

// Each calls do for each of the signals that comes, one after the other, until stop is
// called.
func Each(sigs []os.Signal, do func(os.Signal)) (stop func()) {
	received := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(received, sigs...)
	go func() {
		for {
			select {
			case sig := <-received:
				do(sig)
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(received)
		close(done)
	})
}

// First calls do for the first of the signals that comes, unless stop is called before;
// the next one has its own effect. Signals that were ignored when the process started
// stay so.
func First(sigs []os.Signal, do func(os.Signal)) (stop func()) {
	received := make(chan os.Signal, 1)
	done := make(chan struct{})
	notify(received, sigs)
	go func() {
		select {
		case sig := <-received:
			signal.Stop(received)
			do(sig)
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(received)
		close(done)
	})
}

// notify leaves out the signals that were ignored when the process started, as nohup and
// a shell's & have it: to ask for one would end that.
func notify(received chan<- os.Signal, sigs []os.Signal) {
	sigs = slices.DeleteFunc(slices.Clone(sigs), signal.Ignored)
	if len(sigs) > 0 { // without a signal Notify would take all of them
		signal.Notify(received, sigs...)
	}
}

// Run calls run with a context that the first signal of [Stop] cancels, and returns the
// exit status: 0 for nil, 128 and the number of the signal for an error after one, else
// 1, with the error written to stderr. It calls flush at the signal, because run may take
// longer to return than a scheduler waits before it kills, and end after run, also when
// that panics.
func Run(run func(context.Context) error, flush, end func(), stderr io.Writer) (status int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 1)
	notify(received, Stop)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case sig := <-received:
			signal.Stop(received)
			cancel(signalError{sig})
			flush()
		case <-ctx.Done():
			signal.Stop(received)
		}
	}()
	defer func() {
		cancel(nil)
		<-watched
		end()
	}()
	err := run(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, err)
	var s signalError
	if errors.As(context.Cause(ctx), &s) {
		return Status(s.Signal)
	}
	return 1
}

type signalError struct{ os.Signal }

// Is makes what a function returns for the cause of its context a cancellation.
func (signalError) Is(target error) bool { return target == context.Canceled }

func (e signalError) Error() string { return "received the signal " + e.String() }
