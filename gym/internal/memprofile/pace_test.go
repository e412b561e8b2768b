package memprofile

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPaceKeepsFullReadsWithinTheBudget(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		rest, read time.Duration // of a sample, and of one full read
		perSample  float64       // the full reads to expect
	}{
		"reads fit several times":  {rest: 1 * ms, read: 1 * ms, perSample: 9},
		"one read is most of it":   {rest: 2 * ms, read: 7 * ms, perSample: 8. / 7},
		"one read takes many":      {rest: 2 * ms, read: 80 * ms, perSample: 0.1},
		"the rest is over already": {rest: 50 * ms, read: 5 * ms, perSample: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pace{perSample: 10 * ms}
			reads := 0
			const samples = 1000
			for range samples {
				var spent time.Duration
				for p.allows(spent) {
					spent += tc.read
					reads++
				}
				p.spent(spent, tc.rest)
			}
			assert.InDelta(t, tc.perSample, float64(reads)/samples, tc.perSample*0.05)
		})
	}
}

func TestFullReadsTakeTurns(t *testing.T) {
	t.Parallel()
	needLinux(t)
	fs, m := newProc(t), newMeter(t)
	p := m.profiler(t, Config{Targets: []Target{{"a", "", 1}, {"b", "", 2}, {"c", "", 3}}, ProcRoot: fs.root})
	var full, light []string
	credit := time.Hour // what a read leaves
	p.tree = func(t *tree, w *walker) reading {
		if w == nil {
			light = append(light, t.target.Name)
			return reading{}
		}
		full = append(full, t.target.Name)
		p.pace.credit = credit
		return reading{}
	}
	p.sample(true)
	assert.Equal(t, []string{"a", "b", "c"}, full)
	assert.Empty(t, light)
	full, credit = nil, 0
	for range 6 {
		p.pace.credit = time.Hour
		p.sample(false)
	}
	assert.Equal(t, []string{"a", "b", "c", "a", "b", "c"}, full)
	assert.Len(t, light, 12)
	p.pace.credit, credit = time.Hour, time.Hour
	full, light = nil, nil
	p.sample(false)
	slices.Sort(full)
	assert.Equal(t, []string{"a", "b", "c"}, full)
	assert.Empty(t, light)
}

func TestLightReads(t *testing.T) {
	t.Parallel()
	fs := newProc(t)
	fs.process(1, 400, 300, 100, 2)
	fs.process(2, 40, 30, 10)
	r := fs.reader()
	tr := &tree{target: Target{PID: 1}}
	want := TreeMemory{RSS: 440 * kib, PSS: 330 * kib, HasPSS: true, Processes: 2}
	assert.Equal(t, want, tr.readFull(&walker{reader: r}, true))
	assert.Equal(t, want, tr.readLight(r), "nothing changed")

	fs.process(1, 999, 999, 110, 2, 3) // smaps_rollup and children wait for the tree's turn
	fs.process(2, 999, 999, 9)
	fs.process(3, 5, 5, 1)
	want.RSS = 440*kib + 9*page()
	assert.Equal(t, want, tr.readLight(r))
	fs.process(1, 999, 999, 100)
	want.RSS = 440*kib - page()
	assert.Equal(t, want, tr.readLight(r), "moves do not add up")

	fs.remove("2")
	assert.Equal(t, TreeMemory{RSS: 400 * kib, PSS: 300 * kib, HasPSS: true, Processes: 1}, tr.readLight(r))
	fs.process(1, 1, 1, 1)
	got := tr.readLight(r)
	assert.Equal(t, 400*kib-99*page(), got.RSS)
	assert.LessOrEqual(t, got.PSS, got.RSS)
	fs.process(1, 1, 1, 0)
	assert.Equal(t, TreeMemory{HasPSS: true, Processes: 1}, tr.readLight(r), "a zombie")
	fs.remove("1")
	assert.Equal(t, TreeMemory{HasPSS: true}, tr.readLight(r))
}
