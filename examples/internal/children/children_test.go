package children

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const line = `{"Name":"step","SpanContext":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"b7ad6b7169203331"},` +
	`"Parent":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"00f067aa0ba902b7"},` +
	`"StartTime":"2026-01-02T03:04:05.000000001Z","EndTime":"2026-01-02T03:04:05.000000004Z",` +
	`"Attributes":[{"Key":"dl.iteration","Value":{"Type":"INT64","Value":12}}],` +
	`"Resource":[{"Key":"service.name","Value":{"Type":"STRING","Value":"nemo"}}]}`

const metrics = `{"Resource":[{"Key":"service.name","Value":{"Value":"nemo"}}],"ScopeMetrics":[{"Metrics":[` +
	`{"Name":"d","Unit":"ms","Data":{"Temporality":"CumulativeTemporality","DataPoints":[{"Attributes":[],"Count":4,"Sum":10,"Bounds":[1]}]}}]}]}`

func TestRead(t *testing.T) {
	t.Parallel()
	root := strings.Replace(line, "00f067aa0ba902b7", "0000000000000000", 1)
	var e Exported
	require.NoError(t, e.Read(strings.NewReader(line+"\n\n"+metrics+"\n"+root)))
	require.Len(t, e.Spans, 2)
	s := e.Spans[0]
	assert.Equal(t, Span{Name: "step", Trace: "0af7651916cd43dd8448eb211c80319c", ID: "b7ad6b7169203331", Parent: "00f067aa0ba902b7",
		Start: s.Start, End: s.End, Attributes: s.Attributes, Resource: s.Resource}, s)
	assert.Equal(t, 3*time.Nanosecond, s.Duration())
	assert.Equal(t, 12, s.Attributes.Int("dl.iteration"))
	assert.Equal(t, "nemo", s.Resource.Text("service.name"))
	assert.Empty(t, e.Spans[1].Parent)
	require.Len(t, e.Metrics, 1)
	assert.Equal(t, "nemo", e.Metrics[0].Resource.Text("service.name"))
	assert.EqualValues(t, 4, e.Metrics[0].Data.DataPoints[0].Count)

	for text, want := range map[string]string{
		line + "\n" + line[:50]: "line 2: no line of the console exporter",
		"{}":                    "line 1: no span of the console exporter: name, trace or span id is missing",
	} {
		assert.ErrorContains(t, new(Exported).Read(strings.NewReader(text)), want)
	}
	assert.NoError(t, new(Exported).ReadFile(t.TempDir()+"/none"))
}

func TestLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	lines := NewLines(&out)
	var writing sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		writing.Go(func() {
			w := lines.From(name + ": ")
			for range 100 {
				for _, part := range []string{"on", "e\nt", "wo\n"} {
					_, _ = w.Write([]byte(part))
				}
			}
			_, _ = w.Write([]byte("end"))
			_ = w.Close()
		})
	}
	writing.Wait()
	counts := make(map[string]int)
	for one := range strings.Lines(out.String()) {
		counts[one]++
	}
	assert.Equal(t, map[string]int{"a: one\n": 100, "a: two\n": 100, "a: end\n": 1, "b: one\n": 100, "b: two\n": 100, "b: end\n": 1}, counts)
}

func FuzzRead(f *testing.F) {
	f.Add(line + "\n" + metrics + "\n")
	f.Add("{}\n[]\n")
	f.Fuzz(func(t *testing.T, text string) {
		var e Exported
		_ = e.Read(strings.NewReader(text))
		for _, s := range e.Spans {
			if s.Name == "" || s.Trace == "" || s.ID == "" {
				t.Fatalf("half a span: %+v", s)
			}
		}
	})
}
