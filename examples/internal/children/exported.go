package children

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Span is a span as the console exporter has written it.
type Span struct {
	Name       string
	Trace, ID  string
	Parent     string // empty for a root
	Start, End time.Time
	Attributes Attributes
	Resource   Attributes
}

// Duration is how long the span took.
func (s Span) Duration() time.Duration { return s.End.Sub(s.Start) }

// Metric is one metric of one export.
type Metric struct {
	Name, Unit string
	Data       struct {
		DataPoints  []Point
		Temporality string // empty for a gauge
	}
	Resource Attributes `json:"-"`
}

// Point is a value of a sum or a gauge, or, from Count on, a histogram.
type Point struct {
	Attributes Attributes
	Value      float64
	Count      uint64
	Sum        float64
	Bounds     []float64
}

// Attributes are the attributes of a span, a metric or a resource.
type Attributes map[string]any

// UnmarshalJSON reads the list of the SDK.
func (a *Attributes) UnmarshalJSON(data []byte) error {
	var list []struct {
		Key   string
		Value struct{ Value any }
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*a = make(Attributes, len(list))
	for _, kv := range list {
		(*a)[kv.Key] = kv.Value.Value
	}
	return nil
}

// Text is the value of an attribute that is text, or empty.
func (a Attributes) Text(key string) string {
	text, _ := a[key].(string)
	return text
}

// Int is the value of an attribute that is a number, or 0.
func (a Attributes) Int(key string) int {
	number, _ := a[key].(float64)
	return int(number)
}

// Exported is what a process has written, in its order.
type Exported struct {
	Spans   []Span
	Metrics []Metric
}

// ReadFile adds what is in the file. A process that has exported nothing has none.
func (e *Exported) ReadFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := e.Read(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Read reads what the console exporter writes: a JSON object a line, which is a
// span or the metrics of one export.
func (e *Exported) Read(r io.Reader) error {
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := e.add(line); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (e *Exported) add(line []byte) error {
	var raw struct {
		Name                 string
		SpanContext, Parent  struct{ TraceID, SpanID string }
		StartTime, EndTime   time.Time
		Attributes, Resource Attributes
		ScopeMetrics         []struct{ Metrics []Metric }
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return fmt.Errorf("no line of the console exporter: %w", err)
	}
	for _, scope := range raw.ScopeMetrics {
		for _, m := range scope.Metrics {
			m.Resource = raw.Resource
			e.Metrics = append(e.Metrics, m)
		}
	}
	if raw.ScopeMetrics != nil {
		return nil
	}
	s := Span{Name: raw.Name, Trace: raw.SpanContext.TraceID, ID: raw.SpanContext.SpanID,
		Start: raw.StartTime, End: raw.EndTime, Attributes: raw.Attributes, Resource: raw.Resource}
	if s.Name == "" || s.Trace == "" || s.ID == "" {
		return errors.New("no span of the console exporter: name, trace or span id is missing")
	}
	if strings.Trim(raw.Parent.SpanID, "0") != "" {
		s.Parent = raw.Parent.SpanID
	}
	e.Spans = append(e.Spans, s)
	return nil
}
