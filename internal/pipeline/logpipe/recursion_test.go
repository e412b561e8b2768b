package logpipe

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/report"
)

// What an exporter logs while it exports is suppressed and counted, with its context
// and without, and everybody else's records are not.
func TestExporterCannotFeedItself(t *testing.T) {
	t.Parallel()
	var p *Pipeline
	exp := &exporter{}
	exp.do = func(ctx context.Context, _ []sdklog.Record) error {
		emit(ctx, p, 1)
		emit(context.Background(), p, 1)
		done := make(chan struct{})
		go func() { // with its context on a goroutine of its own
			defer close(done)
			emit(ctx, p, 1)
		}()
		<-done
		inOther := make(chan struct{})
		go func() { // the program, meanwhile
			defer close(inOther)
			if len(exp.calls()) == 1 {
				emit(context.Background(), p, 1)
			}
		}()
		<-inOther
		return nil
	}
	exp.doDown = func(ctx context.Context) error {
		emit(ctx, p, 1)
		emit(context.Background(), p, 1)
		return nil
	}
	p = New(Settings{Exporter: exp, Batch: queue.Config{BatchSize: 1}})
	emit(t.Context(), p, 1)
	until(t, "both exported", func() bool { return p.Stats().Exported == 2 })
	s := p.Stats()
	if s.Given != 2 || s.Suppressed != 6 {
		t.Errorf("stats %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Given != 2 || s.Suppressed != 8 {
		t.Errorf("stats after the shutdown %+v", s)
	}
}

// The plumbing's own scopes never get in, and say so before anything is built.
func TestPlumbingIsSuppressed(t *testing.T) {
	t.Parallel()
	exp := &exporter{}
	p := New(Settings{Exporter: exp})
	for name, want := range map[string]bool{
		"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc": false,
		"go.opentelemetry.io/otel/sdk/log":                            false,
		"google.golang.org/grpc":                                      false,
		"google.golang.org/grpc/internal/transport":                   false,
		"google.golang.org/grpcurl":                                   true,
		"example.com/google.golang.org/grpc":                          true,
		"slog":                                                        true,
	} {
		l := p.Provider.Logger(name)
		if got := l.Enabled(t.Context(), log.EnabledParameters{}); got != want {
			t.Errorf("%s: enabled %v", name, got)
		}
		l.Emit(t.Context(), log.Record{})
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	wantStats(t, p, Stats{queue.Stats{Given: 3, Exported: 3}, 4})
}

// The program's logger exports through the very pipeline whose losses it is told.
func TestOwnWarningsDoNotFeedBack(t *testing.T) {
	t.Parallel()
	exp := &exporter{do: func(context.Context, []sdklog.Record) error { return errors.New("refused") }}
	h := &feedback{told: make(chan struct{}, 100)}
	p := New(Settings{Exporter: exp, Log: report.New(slog.New(h)), Batch: queue.Config{BatchSize: 1}})
	h.p.Store(p)
	emit(t.Context(), p, 5)
	_ = p.ForceFlush(t.Context())
	<-h.told
	until(t, "suppressed", func() bool { return p.Stats().Suppressed > 0 })
	_ = p.Shutdown(t.Context())
	if s := p.Stats(); s.Given != 5 || s.Failed != 5 {
		t.Errorf("stats %+v", s)
	}
}

// feedback is a log handler that exports.
type feedback struct {
	slog.Handler
	p    atomic.Pointer[Pipeline]
	told chan struct{}
}

func (*feedback) Enabled(context.Context, slog.Level) bool { return true }

func (h *feedback) Handle(ctx context.Context, r slog.Record) error {
	if p := h.p.Load(); p != nil {
		emit(ctx, p, 1)
	}
	h.told <- struct{}{}
	return nil
}
