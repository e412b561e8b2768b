package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutlog"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/export/wholeline"
)

// NewLogExporter returns an exporter that writes each record to w, in the format
// of stdoutlog, as one line and with one Write. An error says how many records of
// the batch were lost; the others have been written.
func NewLogExporter(w io.Writer) (sdklog.Exporter, error) {
	e := &logExporter{out: wholeline.New(w)}
	var err error
	e.encode, err = stdoutlog.New(stdoutlog.WithWriter(&e.line))
	return e, err
}

type logExporter struct {
	out *wholeline.Writer

	mu     sync.Mutex
	encode *stdoutlog.Exporter // into line
	line   bytes.Buffer
}

func (e *logExporter) Export(ctx context.Context, records []sdklog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	lost := 0
	var first error
	for i := range records {
		err := e.write(ctx, records[i:i+1])
		if err == nil {
			continue
		}
		if errors.Is(err, sdklog.ErrExporterShutdown) {
			return err // as the interface asks for
		}
		if lost++; first == nil {
			first = err
		}
	}
	if lost > 0 {
		return fmt.Errorf("lens: %d of %d log records lost: %w", lost, len(records), first)
	}
	return nil
}

func (e *logExporter) write(ctx context.Context, one []sdklog.Record) error {
	defer func() {
		e.line.Reset()
		if e.line.Cap() > maxKept {
			e.line = bytes.Buffer{}
		}
	}()
	if err := e.encode.Export(ctx, one); err != nil {
		if errors.Is(err, sdklog.ErrExporterShutdown) || ctx.Err() != nil {
			return err
		}
		line, err := marshal(jsonRecord(&one[0]))
		if err != nil {
			return err
		}
		e.line.Reset()
		e.line.Write(append(line, '\n'))
	}
	_, err := e.out.Write(e.line.Bytes())
	return err
}

func (e *logExporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.encode.Shutdown(ctx)
}

func (e *logExporter) ForceFlush(context.Context) error { return nil }

// record has the fields of stdoutlog's output, for the records that it cannot
// encode.
type record struct {
	Timestamp         *time.Time `json:",omitempty"`
	ObservedTimestamp *time.Time `json:",omitempty"`
	EventName         string     `json:",omitempty"`
	Severity          log.Severity
	SeverityText      string
	Body              attribute.Value
	Attributes        []attribute.KeyValue
	TraceID           trace.TraceID
	SpanID            trace.SpanID
	TraceFlags        trace.TraceFlags
	Resource          *resource.Resource
	Scope             instrumentation.Scope
	DroppedAttributes int
}

func jsonRecord(r *sdklog.Record) record {
	at, observed := r.Timestamp(), r.ObservedTimestamp()
	out := record{
		Timestamp: &at, ObservedTimestamp: &observed, EventName: r.EventName(),
		Severity: r.Severity(), SeverityText: r.SeverityText(), Body: r.Body(),
		Attributes: make([]attribute.KeyValue, 0, r.AttributesLen()),
		TraceID:    r.TraceID(), SpanID: r.SpanID(), TraceFlags: r.TraceFlags(),
		Resource: r.Resource(), Scope: r.InstrumentationScope(), DroppedAttributes: r.DroppedAttributes(),
	}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		out.Attributes = append(out.Attributes, kv)
		return true
	})
	return out
}
