package flight

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/nemo-lens/lens/internal/record"
)

var _ record.Watcher = (*Recorder)(nil)

// SpanOpened implements [record.Watcher].
func (r *Recorder) SpanOpened(s *record.Span, name string) (slot int32) {
	return r.Begin(&Start{
		TraceID: s.TraceID(), SpanID: s.SpanID(), ParentID: s.ParentSpanID(), Start: s.StartUnixNano(),
		Name: name, Group: s.Group(), Attributes: s.StartAttributes(),
	})
}

// SpanSet implements [record.Watcher].
func (r *Recorder) SpanSet(_ *record.Span, slot int32, attrs []attribute.KeyValue) {
	r.SetAttributes(slot, attrs)
}

// SpanClosed implements [record.Watcher].
func (r *Recorder) SpanClosed(s *record.Span, slot int32) {
	r.End(slot, s.EndUnixNano(), s.Status().Code)
}
