//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/internal/otlptest"
)

var (
	exitSilently = program("A5 os.Exit", func() {
		mustSetUp()
		makeSpans(3)
		os.Exit(3)
	})
	logFatal = program("A5 log.Fatal", func() {
		h := mustSetUp()
		defer func() { _ = h.Shutdown(context.Background()) }()
		makeSpans(3)
		stdlog.Fatal("out of memory")
	})
	flushAndExit = program("A5 flush, os.Exit", func() {
		h := mustSetUp()
		makeSpans(3)
		check(h.ForceFlush(context.Background()), 92)
		os.Exit(3)
	})
	failAndExit = program("A5 pattern", func() {
		os.Exit(func() int {
			h := mustSetUp()
			defer func() { _ = h.Shutdown(context.Background()) }()
			makeSpans(3)
			return 7
		}())
	})
	mainFails = program("A5 Main", func() {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		lens.Main(cfg, func(context.Context) error {
			makeSpans(3)
			return errors.New("loss is NaN")
		})
	})
	mainEnds = program("A5 Main returns", func() {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		lens.Main(cfg, func(context.Context) error { makeSpans(3); return nil })
	})
	mainPanics = program("A5 Main panics", func() {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		lens.Main(cfg, func(context.Context) error {
			makeSpans(3)
			panic("out of memory")
		})
	})
	panicInMain = program("A5 panic in main", func() {
		h := mustSetUp()
		defer func() { _ = h.Shutdown(context.Background()) }()
		makeSpans(3)
		panic("out of memory")
	})
	panicElsewhere = program("A5 panic in a goroutine", func() {
		h := mustSetUp()
		defer func() { _ = h.Shutdown(context.Background()) }()
		makeSpans(3)
		go func() { panic("out of memory") }()
		waitToBeKilled()
	})
	panicInTask = program("A5 panic in a TaskGroup", func() {
		h := mustSetUp()
		defer func() { _ = h.Shutdown(context.Background()) }()
		makeSpans(3)
		tasks, _ := lens.NewTaskGroup(context.Background(), lens.Evaluate)
		tasks.Go("task", func(context.Context) error { panic("out of memory") })
		_ = tasks.Wait()
	})
)

func TestA5EndsOfAProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		steps  int // delivered
		stderr string
	}{
		{exitSilently, 3, 0, ""}, // documented: os.Exit and log.Fatal lose what is queued
		{logFatal, 1, 0, "out of memory"},
		{flushAndExit, 3, 3, ""},
		{failAndExit, 7, 3, ""},
		{mainEnds, 0, 3, ""},
		{mainFails, 1, 3, "loss is NaN"},
		{mainPanics, 2, 3, "out of memory"},
		{panicInMain, 2, 3, "out of memory"},
		{panicElsewhere, 2, 0, "out of memory"},
		{panicInTask, 2, 3, "out of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			p := runChild(t, c.name, exportTo(grpcProtocol, s.GRPCURL())...)
			require.Equal(t, c.status, p.status(t), &p.stderr)
			require.Contains(t, p.stderr.String(), c.stderr)
			require.Equal(t, c.steps, namesOf(s.Spans())["step"])
			require.Empty(t, p.stdout.String())
		})
	}
}

// A configuration that cannot be right ends lens.Main before it calls anything.
func TestA5MainRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	p := runChild(t, mainBadGroups, exportTo(grpcProtocol, "http://127.0.0.1:1", "NEMO_LENS_SPAN_GROUPS=per_stpe")...)
	require.Equal(t, 1, p.status(t))
	require.Contains(t, p.stderr.String(), `did you mean "per_step"`)
	require.Empty(t, p.stdout.String())
}

var mainBadGroups = program("A5 Main with a bad configuration", func() {
	cfg, err := lens.FromEnv("", "", nil)
	check(err, 90)
	lens.Main(cfg, func(context.Context) error { ready(); return nil })
})

var (
	untouchedSignals = program("A6 no handler", func() {
		mustSetUp()
		makeSpans(3)
		ready()
		waitToBeKilled()
	})
	shutdownOnSignal = program("A6 ShutdownOnSignal", func() {
		lens.ShutdownOnSignal(mustSetUp())
		makeSpans(3)
		ready()
		waitToBeKilled()
	})
	stoppedHandler = program("A6 ShutdownOnSignal, stopped", func() {
		stop := lens.ShutdownOnSignal(mustSetUp())
		stop()
		stop()
		makeSpans(3)
		ready()
		waitToBeKilled()
	})
	openOnSignal = program("A6 a span is open", func() {
		lens.ShutdownOnSignal(mustSetUp())
		lens.ManagedSpan(context.Background(), lens.Step, "open")
		makeSpans(2)
		ready()
		waitToBeKilled()
	})
	mainWaits = program("A6 Main", func() {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		lens.Main(cfg, func(ctx context.Context) error {
			_, span := lens.ManagedSpan(ctx, lens.Step, "waits")
			makeSpans(2)
			ready()
			<-ctx.Done()
			err := ctx.Err()
			lens.End(span, &err)
			return err
		})
	})
	mainIgnoresTheSignal = program("A6 Main ignores the signal", func() {
		cfg, err := lens.FromEnv("", "", nil)
		check(err, 90)
		lens.Main(cfg, func(context.Context) error {
			makeSpans(3)
			ready()
			select {}
		})
	})
	ownHandler = program("A6 the program's handler", func() {
		received := make(chan os.Signal, 2)
		signal.Notify(received, syscall.SIGTERM)
		h := mustSetUp()
		lens.ShutdownOnSignal(h)
		makeSpans(3)
		ready()
		fmt.Println("the program got:", <-received)
		_ = h.Shutdown(context.Background())
		os.Exit(4)
	})
	flushedThenKilled = program("A6 flushed", func() {
		h := mustSetUp()
		makeSpans(3)
		check(h.ForceFlush(context.Background()), 92)
		makeSpans(2)
		ready()
		waitToBeKilled()
	})
)

func TestA6Signals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		status int
		spans  int
		stdout string
	}{
		{untouchedSignals, syscall.SIGTERM, -int(syscall.SIGTERM), 0, ""},
		{untouchedSignals, syscall.SIGINT, -int(syscall.SIGINT), 0, ""},
		{shutdownOnSignal, syscall.SIGTERM, -int(syscall.SIGTERM), 3, ""},
		{shutdownOnSignal, syscall.SIGINT, -int(syscall.SIGINT), 3, ""},
		{stoppedHandler, syscall.SIGTERM, -int(syscall.SIGTERM), 0, ""},
		{openOnSignal, syscall.SIGTERM, -int(syscall.SIGTERM), 3, ""},
		{mainWaits, syscall.SIGTERM, 128 + int(syscall.SIGTERM), 3, ""},
		{mainWaits, syscall.SIGINT, 128 + int(syscall.SIGINT), 3, ""},
		{ownHandler, syscall.SIGTERM, 4, 3, "the program got: terminated\n"},
		{flushedThenKilled, syscall.SIGKILL, -int(syscall.SIGKILL), 3, ""},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.signal), func(t *testing.T) {
			t.Parallel()
			s := otlptest.Start(t)
			p := startChild(t, c.name, exportTo(grpcProtocol, s.GRPCURL())...)
			p.ready(t)
			p.signal(t, c.signal)
			require.Equal(t, c.status, p.status(t), &p.stderr)
			require.Equal(t, c.spans, s.Count(otlptest.Traces))
			require.Equal(t, "ready\n"+c.stdout, p.stdout.String())
			for _, span := range s.Spans() { // what the signal cut off, and nothing else
				require.Equal(t, span.Name == "open", span.Attributes["nemo.span.truncated"] == true, span.Name)
			}
		})
	}
}

func TestA6ASecondSignalEndsTheProcessAtOnce(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := startChild(t, mainIgnoresTheSignal, exportTo(grpcProtocol, s.GRPCURL())...)
	p.ready(t)
	p.signal(t, syscall.SIGTERM)
	require.Len(t, s.WaitSpans(t, 3, limit), 3, "what had ended is sent although the function does not return")
	p.signal(t, syscall.SIGTERM)
	require.Equal(t, -int(syscall.SIGTERM), p.status(t))
}

func TestA1SignalWithASilentCollector(t *testing.T) {
	t.Parallel()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p := startChild(t, shutdownOnSignal, exportTo(protocol, "http://"+otlptest.SilentAddr(t), "NEMO_LENS_SHUTDOWN_TIMEOUT=300ms")...)
			p.ready(t)
			p.signal(t, syscall.SIGTERM)
			require.Equal(t, -int(syscall.SIGTERM), p.status(t))
			require.Less(t, p.took, 300*time.Millisecond+slack)
			require.Contains(t, p.stderr.String(), "3 of 3 spans lost")
		})
	}
}

var killedWithMarker = program("A8", func() {
	h := mustSetUp()
	ctx, job := lens.ManagedSpan(context.Background(), lens.Job, "job")
	_, marker := lens.ManagedSpan(ctx, lens.Job, "job.started")
	lens.End(marker, nil)
	check(h.ForceFlush(ctx), 92)
	fmt.Println(job.SpanContext().TraceID(), job.SpanContext().SpanID())
	ready()
	waitToBeKilled()
})

func TestA8AFlushedMarkerSurvivesAKill(t *testing.T) {
	t.Parallel()
	s := otlptest.Start(t)
	p := startChild(t, killedWithMarker, exportTo(httpProtocol, s.HTTPURL())...)
	p.ready(t)
	p.signal(t, syscall.SIGKILL)
	require.Equal(t, -int(syscall.SIGKILL), p.status(t))
	spans := s.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, "job.started", spans[0].Name)
	ids := strings.Fields(p.stdout.String())
	require.Equal(t, ids[0], spans[0].TraceID.String())
	require.Equal(t, ids[1], spans[0].ParentSpanID.String())
}

var mainReturns = program("F8", func() {
	h := mustSetUp()
	makeSpans(1)
	_ = h // no Shutdown: main returns at once
})

func TestF8NothingKeepsMainFromReturning(t *testing.T) {
	t.Parallel()
	p := runChild(t, mainReturns, exportTo(grpcProtocol, "http://"+otlptest.SilentAddr(t), "NEMO_LENS_METRICS_ENABLED=1",
		"NEMO_LENS_LOGS_ENABLED=1", "NEMO_LENS_RUNTIME_METRICS=1", "NEMO_LENS_SHUTDOWN_TIMEOUT=1h")...)
	require.Zero(t, p.status(t), &p.stderr)
	require.Less(t, p.took, limit)
}
