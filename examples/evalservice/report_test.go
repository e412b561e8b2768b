package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
	"github.com/nemo-lens/lens/gym"
)

var testKinds = map[string]string{"supervisor": gym.ServerTypeSupervisor, "a": gym.ServerTypeAgent, "m": gym.ServerTypeModel, "r": gym.ServerTypeResources}

// rolloutTrace is a whole trace of a rollout while these groups are on.
func rolloutTrace(trace, rollout string, groups lens.GroupSet) (spans []span) {
	names := make(map[string]string)
	for name, kind := range testKinds {
		names[kind] = name
	}
	id := func(i int) string { return trace + string(rune('a'+i)) }
	began := time.Unix(1000, 0)
	for i, l := range rolloutLinks {
		if !groups.Has(l.group) {
			continue
		}
		s := span{name: l.name, trace: trace, id: id(i), process: names[l.kind], rollout: rollout,
			start: began.Add(time.Duration(i) * time.Millisecond), end: began.Add(time.Second)}
		for at := l.below; at >= 0; at = rolloutLinks[at].below {
			if groups.Has(rolloutLinks[at].group) {
				s.parent = id(at)
				break
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// The count of complete traces notices everything that can be wrong with one.
func TestCompleteTraces(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"default", "per_rollout", "default,verify", "all"} {
		groups, err := gym.ResolveSpanGroups(spec)
		require.NoError(t, err)
		want := shape(groups, testKinds)
		good := rolloutTrace("t1", "0-0", groups)
		traces, complete := rolloutTraces(append(rolloutTrace("t2", "1-0", groups), good...), want)
		assert.Len(t, traces, 2)
		assert.Equal(t, 2, complete, spec)

		for name, spoil := range map[string]func([]span) []span{
			"a span is missing":            func(s []span) []span { return s[:len(s)-1] },
			"the root is missing":          func(s []span) []span { return s[1:] },
			"a span is there twice":        func(s []span) []span { return append(s, s[2]) },
			"a span is of another process": func(s []span) []span { s[4].process = "m"; return s },
			"a span has another parent":    func(s []span) []span { s[len(s)-1].parent = s[0].id; return s },
			"the trace is split": func(s []span) []span {
				s[len(s)-1].trace = "t9"
				return s
			},
		} {
			spans := spoil(append([]span(nil), good...))
			_, complete := rolloutTraces(spans, want)
			assert.Zero(t, complete, "%s: %s", spec, name)
		}
	}
	assert.Len(t, shape(gym.SpanGroups.Presets()["default"], testKinds), 9)
	assert.Len(t, shape(gym.SpanGroups.Groups(), testKinds), 12)
}

func TestWriteTree(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	one := func(name, id, parent, process string, start, took time.Duration) span {
		return span{name: name, trace: "t", id: id, parent: parent, process: process, start: at.Add(start), end: at.Add(start + took)}
	}
	var out bytes.Buffer
	require.NoError(t, writeTree(&out, []span{
		one("late", "c", "a", "two", 30, 1234567*time.Nanosecond),
		one("root", "a", "", "one", 0, 2*time.Second),
		one("leaf", "d", "b", "two", 20, 900),
		one("early", "b", "a", "one", 10, 12345*time.Microsecond),
		one("lost", "e", "x", "three", 40, 0),
	}))
	assert.Equal(t, strings.Join([]string{
		"  root                           2s  one",
		"  ├─ early                  12.35ms  one",
		"  │  └─ leaf                    1µs  two",
		"  └─ late                   1.235ms  two",
		"  lost (parent missing)          0s  three", "",
	}, "\n"), out.String())
}

func TestAccuracy(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	results := []result{{id: "0-0", reward: 1}, {id: "1-0"}, {id: "0-1", reward: 1}, {id: "1-1", reward: 1}}
	require.NoError(t, accuracy(&out, results, 2, time.Second))
	assert.Equal(t, "accuracy: 0.7500 (3 of 4 rollouts; 2 of 2 tasks solved at least once), in 1s\n", out.String())

	results[1].err = errors.New("the model is gone")
	err := accuracy(&out, results, 2, time.Second)
	assert.ErrorContains(t, err, "1 of 4 rollouts failed")
	assert.ErrorContains(t, err, "rollout 1-0: the model is gone")
}

const metricLines = `{"Resource":[{"Key":"nemo.gym.server.name","Value":{"Type":"STRING","Value":"a"}}],"ScopeMetrics":[{"Metrics":[
{"Name":"d_ms","Unit":"ms","Data":{"Temporality":"CumulativeTemporality","DataPoints":[{"Attributes":[{"Key":"nemo.gym.server.name","Value":{"Value":"a"}},{"Key":"k","Value":{"Value":true}}],"Count":4,"Sum":10,"Max":5,"Bounds":[1,2],"BucketCounts":[1,2,1]}]}},
{"Name":"g","Unit":"{thing}","Data":{"DataPoints":[{"Attributes":[],"Value":3}]}},
{"Name":"up","Unit":"By","Data":{"Temporality":"CumulativeTemporality","DataPoints":[{"Attributes":[],"Value":7}]}},
{"Name":"process.memory.usage","Unit":"By","Data":{"Temporality":"CumulativeTemporality","DataPoints":[{"Attributes":[],"Value":1572864}]}},
{"Name":"otel.sdk.span.live","Unit":"","Data":{"DataPoints":[{"Attributes":[],"Value":1}]}}]}]}`

func TestMetricTable(t *testing.T) {
	t.Parallel()
	var all exported
	first := strings.ReplaceAll(metricLines, "\n", "")
	second := strings.ReplaceAll(strings.ReplaceAll(first, `"Value":3}`, `"Value":0.5}`), `"Value":7}`, `"Value":9}`)
	require.NoError(t, all.read(strings.NewReader(first+"\n"+second+"\n")))
	assert.Empty(t, all.spans)
	var out bytes.Buffer
	writeMetrics(&out, []string{"a", "b"}, all.metrics)
	var rows [][]string
	for one := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(one))
	}
	assert.Equal(t, [][]string{
		{"metric", "by", "unit", "a", "b"},
		{"d_ms", "true", "ms", "4", "x", "2.5"},
		{"g", "0.5", "(3)"},
		{"process.memory.usage", "MiB", "1.5"},
		{"up", "B", "9"},
	}, rows[3:])

	out.Reset()
	writeMetrics(&out, nil, nil)
	assert.Equal(t, "\nno metrics\n", out.String())
}

func TestReadNamesTheBadLine(t *testing.T) {
	t.Parallel()
	const good = `{"Name":"n","SpanContext":{"TraceID":"1","SpanID":"2"},"Parent":{"TraceID":"00","SpanID":"00"},"Resource":[{"Key":"nemo.gym.server.name","Value":{"Value":"a"}}]}`
	var all exported
	require.NoError(t, all.read(strings.NewReader(good+"\n\n"+good)))
	assert.Len(t, all.spans, 2)
	assert.Equal(t, span{name: "n", trace: "1", id: "2", process: "a"}, all.spans[0])
	for text, want := range map[string]string{
		good + "\n{": "line 2: no line of the console exporter",
		`{}`:         "line 1: no line of a server",
		strings.Replace(good, `"SpanID":"2"`, `"SpanID":""`, 1): "trace or span id is missing",
	} {
		assert.ErrorContains(t, new(exported).read(strings.NewReader(text)), want)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(runJSON)
	require.NoError(t, err)
	assert.True(t, c.telemetry.Enabled)
	assert.Len(t, c.servers, 3)
	assert.Equal(t, []string{"countdown_agent"}, c.ofType(gym.ServerTypeAgent))
	for text, want := range map[string]string{
		`{`:                              "run.json",
		`{"telemetry":{"enabled":7}}`:    "enabled",
		`{"x":{"type":7}}`:               "run.json: x",
		`{"telemetry":{"exporter":[1]}}`: "exporter",
	} {
		_, err := loadConfig([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}
