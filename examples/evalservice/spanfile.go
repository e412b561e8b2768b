package main

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

	"github.com/nemo-lens/lens/semconv"
)

// span is what this program needs of a span that a process has exported.
type span struct {
	name       string
	trace, id  string
	parent     string // empty for a root
	start, end time.Time
	process    string // the server's name, from the resource
	rollout    string // empty: of none
}

func (s span) duration() time.Duration { return s.end.Sub(s.start) }

// exported is what the processes of a run have written.
type exported struct {
	spans   []span
	metrics []collection // in the order of the lines of each process
}

// collection is what a process wrote each time that its metrics were exported.
type collection struct {
	process string
	metrics []metricLine
}

type metricLine struct {
	Name, Unit string
	Data       struct {
		DataPoints  []pointLine
		Temporality string // empty for a gauge
	}
}

type pointLine struct {
	Attributes attributes
	Value      float64 // of a sum or a gauge
	Count      uint64  // from here on of a histogram
	Sum        float64
	Max        float64
	Bounds     []float64
}

type attributes []struct {
	Key   string
	Value struct{ Value any }
}

func (a attributes) text(key string) string {
	for _, kv := range a {
		if kv.Key == key {
			text, _ := kv.Value.Value.(string)
			return text
		}
	}
	return ""
}

// read reads the files of the processes. One that has written nothing has none.
func (f *files) read(names []string) (all exported, err error) {
	for _, name := range names {
		err := all.readFile(f.of(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("what %s has written: %w", name, err)
		}
	}
	return all, nil
}

func (e *exported) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return e.read(file)
}

// read reads what the console exporter writes: a JSON object a line, which is a
// span or a collection of metrics.
func (e *exported) read(r io.Reader) error {
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

func (e *exported) add(line []byte) error {
	type spanContext struct{ TraceID, SpanID string }
	var raw struct {
		Name                 string
		SpanContext, Parent  spanContext
		StartTime, EndTime   time.Time
		Attributes, Resource attributes
		ScopeMetrics         []struct{ Metrics []metricLine }
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return fmt.Errorf("no line of the console exporter: %w", err)
	}
	process := raw.Resource.text(string(semconv.NeMoGymServerNameKey))
	if process == "" {
		return errors.New("no line of a server: nemo.gym.server.name is missing")
	}
	if raw.Name == "" && raw.ScopeMetrics != nil {
		c := collection{process: process}
		for _, scope := range raw.ScopeMetrics {
			c.metrics = append(c.metrics, scope.Metrics...)
		}
		e.metrics = append(e.metrics, c)
		return nil
	}
	s := span{
		name: raw.Name, trace: raw.SpanContext.TraceID, id: raw.SpanContext.SpanID, start: raw.StartTime, end: raw.EndTime,
		process: process, rollout: raw.Attributes.text(string(semconv.NeMoGymRolloutIDKey)),
	}
	if s.name == "" || s.trace == "" || s.id == "" {
		return errors.New("no span of the console exporter: name, trace or span id is missing")
	}
	if strings.Trim(raw.Parent.SpanID, "0") != "" {
		s.parent = raw.Parent.SpanID
	}
	e.spans = append(e.spans, s)
	return nil
}
