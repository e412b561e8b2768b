package postmortem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/flight"
	"github.com/nemo-lens/lens/semconv"
)

// The marks of a span that its process did not end, as spans have them that a
// shutdown ended.
const (
	truncatedKey = semconv.NeMoSpanTruncatedKey
	reasonKey    = semconv.NeMoSpanTruncatedReasonKey
	reason       = "the process ended without ending the span"
)

// exportedSuffix is what the name of the file has more that says that the spans of
// another have been sent.
const exportedSuffix = ".exported"

// Exported says what Export has done.
type Exported struct {
	Spans, Processes int
	Before           int // processes whose spans had been sent by an earlier call
	Alive            int // processes left out because they are running
}

// Export sends the spans that dead processes left open, each as a span of its own
// trace with the ids that it had, which ended with the last sign of life of its
// process. A file beside that of the process then says so, and a later call leaves the
// process out. Should that file be lost, or a call be cut off half way, the same spans
// are sent again, equal in every bit, which a backend that knows spans by their ids
// takes for one. Processes that are running, and those that ended in order and have
// sent their open spans themselves, are left out.
//
// Processes that were restarted since are included. The exporter is not shut down.
func (r *Report) Export(ctx context.Context, exporter sdktrace.SpanExporter) (done Exported, err error) {
	var errs []error
	for _, p := range r.all {
		switch p.State {
		case Running:
			done.Alive++
			continue
		case Closed:
			continue
		}
		switch _, err := os.Lstat(p.Path + exportedSuffix); {
		case err == nil:
			done.Before++
			continue
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
			continue
		}
		n, err := exportOne(ctx, p, exporter)
		if err != nil {
			errs = append(errs, fmt.Errorf("the open spans of %s: %w", p.Path, err))
			if ctx.Err() != nil || len(errs) == someFaults {
				return done, errors.Join(append(errs, errors.New("no more are tried"))...)
			}
			continue
		}
		done.Spans += n
		done.Processes++
	}
	return done, errors.Join(errs...)
}

func exportOne(ctx context.Context, p *Process, exporter sdktrace.SpanExporter) (n int, err error) {
	f, err := flight.Read(p.Path)
	if err != nil {
		return 0, err
	}
	// Before anything is sent it must be certain that it can be said.
	mark, err := os.CreateTemp(filepath.Dir(p.Path), "exported-*.tmp")
	if err != nil {
		return 0, fmt.Errorf("nothing was sent, because it could not be noted beside the file: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(mark.Name())
		}
	}()
	_, writeErr := fmt.Fprintf(mark, "The %d open spans of this process were exported.\n", len(f.Open))
	if err := errors.Join(writeErr, mark.Close()); err != nil {
		return 0, err
	}
	spans := truncated(f)
	const batch = 512
	for from := 0; from < len(spans); from += batch {
		if err := exporter.ExportSpans(ctx, spans[from:min(from+batch, len(spans))]); err != nil {
			return 0, err
		}
	}
	return len(spans), os.Rename(mark.Name(), p.Path+exportedSuffix)
}

// truncated returns the open spans as spans that ended with the process.
func truncated(f *flight.File) []sdktrace.ReadOnlySpan {
	attrs := []attribute.KeyValue{
		semconv.NeMoRunIDKey.String(f.RunID), attribute.String("host.name", f.Host), attribute.Int64("process.pid", f.PID),
		semconv.DLRankKey.Int(f.Rank), semconv.DLWorldSizeKey.Int(f.WorldSize),
	}
	if f.Service != "" {
		attrs = append(attrs, semconv.ServiceNameKey.String(f.Service))
	}
	res := resource.NewSchemaless(attrs...)
	var stubs tracetest.SpanStubs
	for i := range f.Open {
		s := &f.Open[i]
		if !s.TraceID.IsValid() || !s.SpanID.IsValid() {
			continue
		}
		end := latest(s.Start.Add(f.Age(s)), s.Start)
		stub := tracetest.SpanStub{
			Name: s.Name, SpanKind: trace.SpanKindInternal, StartTime: s.Start, EndTime: end,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.SpanID, TraceFlags: trace.FlagsSampled}),
			Attributes:  append(s.Attributes, truncatedKey.Bool(true)),
			Events:      []sdktrace.Event{{Name: string(truncatedKey), Time: end, Attributes: []attribute.KeyValue{reasonKey.String(reason)}}},
			Resource:    res, InstrumentationScope: instrumentation.Scope{Name: "nemo.lens"},
		}
		if s.ParentID.IsValid() {
			stub.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.TraceID, SpanID: s.ParentID, TraceFlags: trace.FlagsSampled})
		}
		stubs = append(stubs, stub)
	}
	return stubs.Snapshots()
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
