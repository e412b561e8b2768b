package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens/examples/internal/children"
	"github.com/nemo-lens/lens/gym"
)

// madeBy is the resource of a process.
func madeBy(process string) children.Attributes {
	return children.Attributes{"nemo.gym.server.name": process}
}

// The count of complete traces notices what can be wrong with one. That spans are
// inside the right ones is checked on real runs: checkRollouts.
func TestCompleteTraces(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"supervisor": gym.ServerTypeSupervisor, "a": gym.ServerTypeAgent, "m": gym.ServerTypeModel, "r": gym.ServerTypeResources}
	for spec, n := range map[string]int{"default": 9, "per_rollout": 12, "default,verify": 10, "all": 12} {
		groups, err := gym.ResolveSpanGroups(spec)
		require.NoError(t, err)
		want, total := expected(groups, kinds)
		assert.Equal(t, n, total, spec)
		var good []children.Span
		for name, count := range want {
			process, name, _ := strings.Cut(name, " ")
			for range count {
				s := children.Span{Name: name, Trace: "t", ID: fmt.Sprint(len(good)), Resource: madeBy(process), Attributes: children.Attributes{"nemo.gym.rollout.id": "0-0"}}
				if len(good) > 0 {
					s.Parent = "0"
				}
				good = append(good, s)
			}
		}
		assert.True(t, isComplete(rolloutTraces(good)["0-0"], want), spec)
		for fault, spoil := range map[string]func([]children.Span) []children.Span{
			"a span is missing":            func(s []children.Span) []children.Span { return s[:len(s)-1] },
			"the root is missing":          func(s []children.Span) []children.Span { return s[1:] },
			"a span is there twice":        func(s []children.Span) []children.Span { return append(s, s[2]) },
			"a span is of another process": func(s []children.Span) []children.Span { s[4].Resource = madeBy("x"); return s },
			"a parent is missing":          func(s []children.Span) []children.Span { s[4].Parent = "x"; return s },
			"the trace is split":           func(s []children.Span) []children.Span { s[4].Trace, s[4].Parent = "u", ""; return s },
		} {
			spans := spoil(slices.Clone(good))
			assert.False(t, isComplete(rolloutTraces(spans)["0-0"], want), "%s: %s", spec, fault)
		}
	}
}

func TestWriteTree(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	one := func(name, id, parent, process string, start, took time.Duration) children.Span {
		return children.Span{Name: name, Trace: "t", ID: id, Parent: parent, Resource: madeBy(process), Start: at.Add(start), End: at.Add(start + took)}
	}
	var out bytes.Buffer
	writeTree(&out, []children.Span{
		one("late", "c", "a", "two", 30, 1234567*time.Nanosecond),
		one("root", "a", "", "one", 0, 2*time.Second),
		one("leaf", "d", "b", "two", 20, 900),
		one("early", "b", "a", "one", 10, 12345*time.Microsecond),
		one("lost", "e", "x", "three", 40, 0),
	})
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
	var all children.Exported
	first := strings.ReplaceAll(metricLines, "\n", "")
	second := strings.ReplaceAll(strings.ReplaceAll(first, `"Value":3}`, `"Value":0.5}`), `"Value":7}`, `"Value":9}`)
	require.NoError(t, all.Read(strings.NewReader(first+"\n"+second+"\n")))
	assert.Empty(t, all.Spans)
	var out bytes.Buffer
	writeMetrics(&out, []string{"a", "b"}, all.Metrics)
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

func TestConfig(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(runJSON)
	require.NoError(t, err)
	assert.True(t, c.telemetry.Enabled)
	assert.Len(t, c.servers, 3)
	name, err := c.ofType(gym.ServerTypeAgent)
	require.NoError(t, err)
	assert.Equal(t, "countdown_agent", name)
	_, err = runConfig{}.ofType(gym.ServerTypeAgent)
	assert.ErrorContains(t, err, "want a server of type responses_api_agents")
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
