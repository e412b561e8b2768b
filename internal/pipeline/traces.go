package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/queue"
	"github.com/nemo-lens/lens/internal/queue/outcome"
	"github.com/nemo-lens/lens/internal/record"
	"github.com/nemo-lens/lens/internal/report"
)

// SpanExporter takes the recorder's spans as they are.
type SpanExporter interface {
	Export(ctx context.Context, spans []*record.Span) error
	Shutdown(ctx context.Context) error
}

// Views makes an exporter of the SDK's kind one of the recorder's spans, which
// it sees as the SDK's views.
func Views(e sdktrace.SpanExporter) SpanExporter { return views{e} }

type views struct{ sdktrace.SpanExporter }

func (v views) Export(ctx context.Context, spans []*record.Span) error {
	seen := make([]sdktrace.ReadOnlySpan, len(spans)) // which the exporter may keep
	for i, s := range spans {
		seen[i] = s.ReadOnly()
	}
	return v.ExportSpans(ctx, seen)
}

// TraceSettings is everything that the way of the spans is built from; nothing
// else is read.
type TraceSettings struct {
	Exporter     SpanExporter // nil: spans go to the processors only
	ExporterName string       // in errors of its own
	Endpoint     string       // in errors about lost spans
	Batch        queue.Config
	Processors   []sdktrace.SpanProcessor // of the application
	Sampler      sdktrace.Sampler
	IDs          sdktrace.IDGenerator // nil: random ones
	Limits       sdktrace.SpanLimits
	Resource     *resource.Resource
	Scoped       func(context.Context) []attribute.KeyValue // see record.Settings
	Watcher      record.Watcher
	Log          *report.Log
}

// Traces is the way of a span from its start to the exporter.
type Traces struct {
	*record.Provider
	lens, helpers *record.Tracer
	log           *report.Log
	queue         *queue.Queue[*record.Span] // nil without an exporter
}

// Own returns the tracer of one of lens's own scopes without a look-up.
func (t *Traces) Own(scope string) *record.Tracer {
	if scope == HelpersScope {
		return t.helpers
	}
	return t.lens
}

// lastMoment is what Shutdown may take beyond the deadline of its context.
const lastMoment = 50 * time.Millisecond

// NewTraces builds it. It cannot fail; it starts the goroutines of the queue.
func NewTraces(s TraceSettings) *Traces {
	t := &Traces{log: s.Log}
	settings := record.Settings{
		Resource: s.Resource, Sampler: s.Sampler, IDs: s.IDs, Limits: s.Limits,
		Processors: s.Processors, Scoped: s.Scoped, Watcher: s.Watcher,
		OnOpenLimit: func(limit int) {
			s.Log.Warn("open spans", fmt.Sprintf("more than %d spans are open; those beyond are not shown by OpenSpans and not closed at shutdown: is one never ended?", limit))
		},
		OnFault: func(f record.Fault, text string) { s.Log.Warn(f.String(), "lens: "+text) },
	}
	if s.Exporter != nil {
		s.Batch.What, s.Batch.Endpoint, s.Batch.Exporter = "spans", s.Endpoint, s.ExporterName
		s.Batch.Close = s.Exporter.Shutdown
		s.Batch.OnLoss = func(loss *outcome.LossError) { loss.Warn(s.Log) }
		t.queue = queue.New(s.Batch, func(ctx context.Context, spans []*record.Span) error {
			err := s.Exporter.Export(ctx, spans)
			if err == nil {
				outcome.Recovered(s.Log, "spans", s.Endpoint)
			}
			return err
		})
		settings.Sink = t.queue.Put
	}
	t.Provider = record.New(settings)
	t.lens, t.helpers = t.Scope(Scope), t.Scope(HelpersScope)
	return t
}

// ForceFlush hands over every span that has ended, and reports what was lost.
func (t *Traces) ForceFlush(ctx context.Context) error {
	var err error
	if t.queue != nil {
		err = t.queue.Flush(ctx)
	}
	return errors.Join(err, t.warned(t.Provider.ForceFlush(ctx)))
}

// Shutdown ends the spans that are still open, hands everything over, and
// reports what was lost. Every caller gets the result of the same work.
func (t *Traces) Shutdown(ctx context.Context) error {
	t.CloseAll(ctx)
	var err error
	if t.queue != nil {
		err = t.queue.Shutdown(ctx)
	}
	if ctx.Err() != nil {
		// The queue has used the time up and said so; the application's processors
		// still get a moment to end.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastMoment)
		defer cancel()
	}
	return errors.Join(err, t.warned(t.Provider.Shutdown(ctx)))
}

// warned logs what a processor of the application said, because few callers look
// at the error of a shutdown.
func (t *Traces) warned(err error) error {
	if err != nil {
		t.log.Warn("span processor error", outcome.Text(err))
	}
	return err
}

// Counts returns the numbers of the queue; all are zero without an exporter.
func (t *Traces) Counts() queue.Stats {
	if t.queue == nil {
		return queue.Stats{}
	}
	return t.queue.Stats()
}

// HasQueue reports whether there is an exporter, and so a queue.
func (t *Traces) HasQueue() bool { return t.queue != nil }
