package logpipe

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// loud is a processor whose every method panics.
type loud struct{}

func (loud) Enabled(context.Context, sdklog.EnabledParameters) bool { panic("odd, token=abc123") }
func (loud) OnEmit(context.Context, *sdklog.Record) error           { panic("odd, token=abc123") }
func (loud) Shutdown(context.Context) error                         { panic("odd, token=abc123") }
func (loud) ForceFlush(context.Context) error                       { panic("odd, token=abc123") }

// loudErr is an error that cannot be asked.
type loudErr struct{}

func (loudErr) Error() string { panic("loud") }

// A processor of the program and an error in a record that panic cost neither the
// program nor the record.
func TestFieldA1BadLogProcessors(t *testing.T) {
	t.Parallel()
	var out lines
	exp, last := &exporter{}, &counting{}
	p := New(Settings{Exporter: exp, Log: out.log(), Processors: []sdklog.Processor{nil, (*counting)(nil), loud{}, last}})
	l := p.Provider.Logger("test")
	if !l.Enabled(t.Context(), log.EnabledParameters{}) {
		t.Error("not enabled")
	}
	var r log.Record
	r.SetErr(loudErr{})
	l.Emit(t.Context(), r)
	if err := p.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "ForceFlush of the log processor logpipe.loud panicked: odd") {
		t.Errorf("error of the flush: %v", err)
	}
	if err := p.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "Shutdown of the log processor logpipe.loud panicked") ||
		strings.Contains(err.Error(), "abc123") {
		t.Errorf("error of the shutdown: %v", err)
	}
	if len(exp.records()) != 1 || last.emitted != 1 || last.downs != 1 {
		t.Errorf("%d records exported; the last processor had %d and %d shutdowns", len(exp.records()), last.emitted, last.downs)
	}
	if s := out.String(); !strings.Contains(s, "OnEmit of the log processor logpipe.loud panicked") || strings.Count(s, "left out") != 1 || strings.Contains(s, "abc123") {
		t.Errorf("log %s", s)
	}
}
