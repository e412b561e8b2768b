package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nemo-lens/lens/internal/export/wholeline"
	"github.com/nemo-lens/lens/internal/queue/outcome"
)

var errStopped = errors.New("lens: the console exporter has been shut down")

// maxKept is the largest line buffer that an exporter keeps for the next line.
const maxKept = 1 << 20

// NewSpanExporter returns an exporter that writes each span to w, in the format of
// stdouttrace, as one line and with one Write. What could not be written is a
// *outcome.LossError; spans exported after Shutdown are lost and counted too.
func NewSpanExporter(w io.Writer) (sdktrace.SpanExporter, error) {
	e := &spanExporter{out: wholeline.New(w)}
	var err error
	e.encode, err = stdouttrace.New(stdouttrace.WithWriter(&e.line))
	return e, err
}

type spanExporter struct {
	out *wholeline.Writer

	mu      sync.Mutex
	encode  *stdouttrace.Exporter // into line
	line    bytes.Buffer
	one     [1]sdktrace.ReadOnlySpan
	stopped bool

	// The resource is as a rule the same for all spans.
	resource, finite *resource.Resource
}

func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	lost := 0
	var why outcome.Reasons
	for i, s := range spans {
		if s == nil {
			continue
		}
		err := ctx.Err()
		if e.stopped {
			err = errStopped
		}
		if err != nil {
			lost += len(spans) - i
			why.Add(err)
			break
		}
		if err := e.write(ctx, s); err != nil {
			lost++
			why.Add(err)
		}
	}
	if lost == 0 {
		return nil
	}
	return &outcome.LossError{What: "spans", Failed: uint64(lost), Of: uint64(len(spans)), Cause: why.Err()}
}

// write encodes one span and hands the line on. stdouttrace itself never sees a
// failed write: its encoder would refuse every later span.
func (e *spanExporter) write(ctx context.Context, s sdktrace.ReadOnlySpan) error {
	if r := s.Resource(); r != e.resource || e.finite == nil {
		e.resource = r
		e.finite, _ = finiteResource(r)
	}
	e.one[0] = encodable(s, e.finite)
	defer func() {
		e.one[0] = nil
		e.line.Reset()
		if e.line.Cap() > maxKept {
			e.line = bytes.Buffer{}
		}
	}()
	if err := e.encode.ExportSpans(ctx, e.one[:]); err != nil {
		return err
	}
	_, err := e.out.Write(e.line.Bytes())
	return err
}

func (e *spanExporter) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	return e.encode.Shutdown(ctx)
}

// MarshalLog is what the SDK's debug log shows of the exporter.
func (*spanExporter) MarshalLog() any { return struct{ Type string }{"lens/console"} }

// span is a span of the SDK with what JSON cannot hold replaced.
type span struct {
	sdktrace.ReadOnlySpan
	attrs      []attribute.KeyValue
	events     []sdktrace.Event
	links      []sdktrace.Link
	scope      instrumentation.Scope
	resource   *resource.Resource
	start, end time.Time
}

func (s *span) Attributes() []attribute.KeyValue            { return s.attrs }
func (s *span) Events() []sdktrace.Event                    { return s.events }
func (s *span) Links() []sdktrace.Link                      { return s.links }
func (s *span) InstrumentationScope() instrumentation.Scope { return s.scope }
func (s *span) Resource() *resource.Resource                { return s.resource }
func (s *span) StartTime() time.Time                        { return s.start }
func (s *span) EndTime() time.Time                          { return s.end }

// InstrumentationLibrary is the scope under its old name.
//
//lint:ignore SA1019 The interface has it.
func (s *span) InstrumentationLibrary() instrumentation.Library { return s.scope }

// encodable returns s itself when JSON can hold it as it is.
func encodable(s sdktrace.ReadOnlySpan, finite *resource.Resource) sdktrace.ReadOnlySpan {
	out := &span{ReadOnlySpan: s, resource: finite}
	var changed [5]bool
	out.attrs, changed[0] = finiteAttributes(s.Attributes())
	out.scope, changed[1] = finiteScope(s.InstrumentationScope())
	out.start, changed[2] = jsonTime(s.StartTime())
	out.end, changed[3] = jsonTime(s.EndTime())
	changed[4] = finite != s.Resource()

	any := slices.Contains(changed[:], true)
	out.events = s.Events()
	for i, ev := range out.events {
		attrs, c := finiteAttributes(ev.Attributes)
		at, d := jsonTime(ev.Time)
		if c || d {
			out.events = cloneOnce(out.events, s.Events())
			out.events[i].Attributes, out.events[i].Time, any = attrs, at, true
		}
	}
	out.links = s.Links()
	for i, l := range out.links {
		if attrs, c := finiteAttributes(l.Attributes); c {
			out.links = cloneOnce(out.links, s.Links())
			out.links[i].Attributes, any = attrs, true
		}
	}
	if !any {
		return s
	}
	return out
}

// cloneOnce returns list, or a copy of it when it is still original.
func cloneOnce[T any](list, original []T) []T {
	if &list[0] == &original[0] {
		return slices.Clone(list)
	}
	return list
}
