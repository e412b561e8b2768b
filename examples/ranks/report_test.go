package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func timed(name string, rank, step int, d time.Duration) span {
	start := time.Unix(1000, 0)
	return span{name: name, trace: "t", id: fmt.Sprint(name, rank, step), rank: rank, step: step, start: start, end: start.Add(d)}
}

func TestSlowest(t *testing.T) {
	t.Parallel()
	got := slowest([]span{
		timed(spanForwardBackward, 0, 1, 2*time.Millisecond), timed(spanAllReduce, 0, 1, 7*time.Millisecond),
		timed(spanForwardBackward, 1, 1, 9*time.Millisecond), timed(spanAllReduce, 1, 1, time.Millisecond),
		timed(spanForwardBackward, 2, 1, 3*time.Millisecond), timed(spanAllReduce, 2, 1, 6*time.Millisecond),
		timed(spanForwardBackward, 0, 2, 5*time.Millisecond),
		timed(spanForwardBackward, 1, 2, 4*time.Millisecond),
		timed(spanForwardBackward, 1, 3, time.Millisecond), // alone, so nothing to compare
		timed(spanStep, 0, 1, time.Hour),
	})
	assert.Equal(t, []laggard{
		{step: 1, rank: 1, compute: 9 * time.Millisecond, others: 3 * time.Millisecond, waiting: 7 * time.Millisecond},
		{step: 2, rank: 0, compute: 5 * time.Millisecond, others: 4 * time.Millisecond},
	}, got)
	assert.Empty(t, slowest(nil))
}

const line = `{"Name":"ranks.step","SpanContext":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"b7ad6b7169203331"},` +
	`"Parent":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"00f067aa0ba902b7"},` +
	`"StartTime":"2026-01-02T03:04:05.000000001Z","EndTime":"2026-01-02T03:04:05.000000004Z",` +
	`"Attributes":[{"Key":"dl.iteration","Value":{"Type":"INT64","Value":12}}],` +
	`"Resource":[{"Key":"service.name","Value":{"Type":"STRING","Value":"nemo"}},{"Key":"dl.rank","Value":{"Type":"INT64","Value":3}}]}`

func TestParseSpans(t *testing.T) {
	t.Parallel()
	root := strings.Replace(line, `"Parent":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"00f067aa0ba902b7"}`,
		`"Parent":{"TraceID":"00000000000000000000000000000000","SpanID":"0000000000000000"}`, 1)
	spans, err := parseSpans(strings.NewReader(line + "\n" + root))
	require.NoError(t, err)
	require.Len(t, spans, 2)
	assert.Equal(t, span{name: "ranks.step", trace: "0af7651916cd43dd8448eb211c80319c", id: "b7ad6b7169203331", parent: "00f067aa0ba902b7",
		start: spans[0].start, end: spans[0].end, rank: 3, step: 12}, spans[0])
	assert.Equal(t, 3*time.Nanosecond, spans[0].duration())
	assert.Empty(t, spans[1].parent)

	for text, want := range map[string]string{
		line + "\n" + line[:50]: "line 2: no span",
		"{}":                    "name, trace or span id is missing",
		"\n":                    "line 1",
		strings.Replace(line, `"Value":12`, `"Value":"12"`, 1): `dl.iteration="12": want a whole number`,
		strings.Replace(line, `"Value":3}`, `"Value":3.5}`, 1): "dl.rank=3.5: want a whole number",
	} {
		_, err := parseSpans(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
	spans, err = readSpans("does-not-exist")
	assert.NoError(t, err)
	assert.Empty(t, spans)
}

func FuzzParseSpans(f *testing.F) {
	f.Add(line)
	f.Add(line + "\n" + line + "\n")
	f.Add("{}\n[]\n")
	f.Fuzz(func(t *testing.T, text string) {
		spans, err := parseSpans(strings.NewReader(text))
		if err != nil && len(spans) > 0 {
			t.Fatal("spans beside an error")
		}
		for _, s := range spans {
			if s.name == "" || s.trace == "" || s.id == "" {
				t.Fatalf("half a span: %+v", s)
			}
		}
	})
}

func TestDriftedRanksAreFound(t *testing.T) {
	t.Parallel()
	assert.NoError(t, sameModel([]result{{Weights: "a"}, {Weights: "a"}}))
	assert.ErrorContains(t, sameModel([]result{{Weights: "a"}, {Weights: "a"}, {Weights: "b"}}), "rank 2 ended with the weights b")
}

func TestRankLinesStayWhole(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := &prefixed{w: &out, mu: new(sync.Mutex), prefix: "rank 1: "}
	for _, part := range []string{"a", "b\nc\n", "", "d"} {
		n, err := p.Write([]byte(part))
		assert.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	p.flush()
	assert.Equal(t, "rank 1: ab\nrank 1: c\nrank 1: d\n", out.String())
}
