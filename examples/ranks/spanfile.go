package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/nemo-lens/lens/semconv"
)

// span is what this program needs of a span that a rank has exported.
type span struct {
	name       string
	trace, id  string
	parent     string // empty for a root
	start, end time.Time
	rank       int // of the process, from its resource
	step       int // 0: belongs to no step
}

func (s span) duration() time.Duration { return s.end.Sub(s.start) }

// readSpans reads the file of one rank. A rank that does not export has none.
func readSpans(path string) ([]span, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return parseSpans(f)
}

// parseSpans reads what the console exporter writes: a JSON object a line.
func parseSpans(r io.Reader) ([]span, error) {
	var spans []span
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			s, err := parseSpan(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			spans = append(spans, s)
		}
		if errors.Is(err, io.EOF) {
			return spans, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func parseSpan(line []byte) (span, error) {
	type spanContext struct{ TraceID, SpanID string }
	type attributes []struct {
		Key   string
		Value struct{ Value json.RawMessage }
	}
	var raw struct {
		Name                 string
		SpanContext, Parent  spanContext
		StartTime, EndTime   time.Time
		Attributes, Resource attributes
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return span{}, fmt.Errorf("no span of the console exporter: %w", err)
	}
	number := func(from attributes, key string) (int, error) {
		for _, kv := range from {
			if kv.Key == key {
				n, err := strconv.Atoi(string(kv.Value.Value))
				if err != nil {
					return 0, fmt.Errorf("%s=%s: want a whole number", key, kv.Value.Value)
				}
				return n, nil
			}
		}
		return 0, nil
	}
	s := span{name: raw.Name, trace: raw.SpanContext.TraceID, id: raw.SpanContext.SpanID, start: raw.StartTime, end: raw.EndTime}
	if raw.Parent.TraceID == s.trace {
		s.parent = raw.Parent.SpanID
	}
	if s.name == "" || s.trace == "" || s.id == "" {
		return span{}, errors.New("no span of the console exporter: name, trace or span id is missing")
	}
	var err error
	if s.rank, err = number(raw.Resource, string(semconv.DLRankKey)); err != nil {
		return span{}, err
	}
	s.step, err = number(raw.Attributes, string(semconv.DLIterationKey))
	return s, err
}
