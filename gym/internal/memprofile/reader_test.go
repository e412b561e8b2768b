package memprofile

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kib = 1024

func page() uint64 { return uint64(os.Getpagesize()) }

func TestOwnProcess(t *testing.T) {
	t.Parallel()
	needLinux(t)
	got := NewReader("").Tree(os.Getpid())
	assert.GreaterOrEqual(t, got.Processes, 1)
	assert.True(t, got.HasPSS)
	assert.Positive(t, got.PSS)
	assert.LessOrEqual(t, got.PSS, got.RSS)
}

func TestVanishedProcess(t *testing.T) {
	t.Parallel()
	needLinux(t)
	for _, pid := range []int{999999999, 0, -1} {
		assert.Equal(t, TreeMemory{HasPSS: true}, NewReader("").Tree(pid))
	}
}

func TestStatmWhereRollupIsDenied(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	p.process(7, 1, 1, 7)
	p.remove("7", "smaps_rollup")
	p.write("", "7", "smaps_rollup", "a directory cannot be read")
	got, ok := p.reader().Process(7)
	assert.True(t, ok)
	assert.Equal(t, Memory{RSS: 7 * page()}, got)
	assert.Equal(t, TreeMemory{RSS: 7 * page(), Processes: 1}, p.reader().Tree(7))

	p.process(8, 1, 1, 5)
	p.write("header [rollup]\nPss: 3 kB\n", "8", "smaps_rollup") // no Rss line
	got, ok = p.reader().Process(8)
	assert.True(t, ok)
	assert.Equal(t, Memory{RSS: 5 * page()}, got)

	p.remove("8", "statm")
	_, ok = p.reader().Process(8)
	assert.False(t, ok)
}

func TestOneUnknownPSSTakesThatOfTheTree(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	p.process(1, 10, 8, 3, 2)
	p.process(2, 20, -1, 3)
	assert.Equal(t, TreeMemory{RSS: 30 * kib, Processes: 2}, p.reader().Tree(1))
	p.process(2, 20, 0, 3)
	assert.Equal(t, TreeMemory{RSS: 30 * kib, PSS: 8 * kib, HasPSS: true, Processes: 2}, p.reader().Tree(1), "a PSS of 0 is known")
	p.remove("2", "smaps_rollup")
	p.write("0 0 0 0 0 0 0\n", "2", "statm")
	assert.Equal(t, TreeMemory{RSS: 10 * kib, PSS: 8 * kib, HasPSS: true, Processes: 2}, p.reader().Tree(1), "a zombie has no memory")
}

func TestTreeWalk(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	p.process(1, 1, 1, 1, 2, 3)
	p.process(2, 1, 1, 1, 4)
	p.children(2, 22, 5, 1) // a second thread; 1 makes a circle
	p.process(3, 1, 1, 1)
	p.process(4, 1, 1, 1, 99) // 99 is gone
	p.process(5, 1, 1, 1)
	p.process(6, 1, 1, 1) // someone else
	r := p.reader()
	assert.ElementsMatch(t, []int{1, 2, 3, 4, 5, 99}, r.PIDs(1))
	assert.Equal(t, 1, r.PIDs(1)[0])
	assert.Equal(t, 5, r.Tree(1).Processes)

	p.remove("1", "task", "1", "children")
	p.write("", "1", "task", "1", "children", "unreadable")
	assert.Equal(t, []int{1}, r.PIDs(1))
	p.remove("1", "task")
	assert.Equal(t, []int{1}, r.PIDs(1))
	assert.False(t, r.noTree.Load(), "unreadable is not missing")
}

func TestMoreChildrenThanFitOneRead(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	var children []int
	for i := range 3000 {
		children = append(children, 10000+i)
	}
	p.process(1, 1, 1, 1, children...)
	assert.Len(t, p.reader().PIDs(1), 3001)
}

func TestScanOfParentsWithoutChildrenFiles(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	for pid, parent := range map[int]int{1: 0, 10: 1, 11: 10, 12: 11, 20: 1} {
		p.process(pid, 4, 2, 1)
		p.remove(fmt.Sprint(pid), "task", fmt.Sprint(pid), "children")
		p.write(fmt.Sprintf("%d (a ) S 99 b) S %d 1 1 0", pid, parent), fmt.Sprint(pid), "stat")
	}
	p.write("junk", "30", "stat")
	r := p.reader()
	assert.ElementsMatch(t, []int{10, 11, 12}, r.PIDs(10))
	assert.True(t, r.noTree.Load())
	assert.Equal(t, TreeMemory{RSS: 12 * kib, PSS: 6 * kib, HasPSS: true, Processes: 3}, r.Tree(10))
	assert.Equal(t, []int{0}, r.PIDs(0), "the kernel is nobody's server")
}

func TestHost(t *testing.T) {
	t.Parallel()
	needLinux(t)
	h, err := NewReader("").Host()
	require.NoError(t, err)
	assert.Equal(t, h.Total-h.Available, h.Used())
	text, err := os.ReadFile("/proc/meminfo")
	require.NoError(t, err)
	var total uint64
	_, err = fmt.Sscanf(string(text), "MemTotal: %d kB", &total)
	require.NoError(t, err)
	assert.Equal(t, total*kib, h.Total)
	assert.Zero(t, HostMemory{Total: 1, Available: 2}.Used())
}

func TestHostErrors(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	h, err := p.reader().Host()
	require.NoError(t, err)
	assert.Equal(t, HostMemory{Total: 1000 * kib, Available: 300 * kib}, h)
	p.write("MemTotal: 5 kB\n", "meminfo")
	_, err = p.reader().Host()
	require.ErrorContains(t, err, "no MemAvailable")
	p.write("MemTotal: lots kB\n", "meminfo")
	_, err = p.reader().Host()
	require.ErrorContains(t, err, "lens: read the host's memory")
	_, err = NewReader("/nonexistent").Host()
	require.ErrorContains(t, err, "lens: read the host's memory")
}

func TestParsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Memory{
		"h\nRss: 3 kB\nPss: 2 kB\n":                 {3 * kib, 2 * kib, true},
		"Pss: 2 kB\nRss: 3 kB":                      {3 * kib, 2 * kib, true},
		"Rss: 3 kB\nPss: much kB\n":                 {3 * kib, 0, false},
		"Rss: 3 kB\nPss_Anon: 2 kB\nSwapPss: 1 kB":  {3 * kib, 0, false},
		"Rss: 99999999999999999999 kB\nRss: 1 kB\n": {1 * kib, 0, false},
	} {
		got, ok := parseRollup([]byte(text))
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "Rss: 3", "Rss: -3 kB", "rss: 3 kB", "Rss: 3 MB"} {
		_, ok := parseRollup([]byte(text))
		assert.False(t, ok, text)
	}
	for _, text := range []string{"", "7", "7 x", "7 -1"} {
		_, ok := parseResident([]byte(text))
		assert.False(t, ok, text)
	}
	for _, text := range []string{"", "1 (a) S", "1 a S 2", "1 (a) S x", "1 (a) S -4"} {
		_, ok := parseParent([]byte(text))
		assert.False(t, ok, text)
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte("h [rollup]\nRss:  1736 kB\nPss:  367 kB\n"))
	f.Add([]byte("100 7 3 4 0 5 0\n"))
	f.Add([]byte("12 (a ) b) S 34 1 1"))
	f.Add([]byte("1 2 3 "))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, ok := parseRollup(text); !ok && m != (Memory{}) || m.PSS > 0 && !m.HasPSS {
			t.Errorf("parseRollup(%q) = %+v", text, m)
		}
		parseResident(text)
		if pid, ok := parseParent(text); ok && pid < 0 {
			t.Errorf("parseParent(%q) = %d", text, pid)
		}
		for _, pid := range appendPIDs(nil, text) {
			if pid <= 0 {
				t.Errorf("appendPIDs(%q) holds %d", text, pid)
			}
		}
	})
}

// A process id that another process has got is not the target's any more.
func TestFieldE3AProcessIDIsUsedAgain(t *testing.T) {
	t.Parallel()
	p := newProc(t)
	stat := func(started int) {
		p.write(fmt.Sprintf("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 %d 999 9\n", started), "7", "stat")
	}
	p.process(7, 40, 20, 10)
	stat(1000)
	r := p.reader()
	tr := &tree{target: Target{PID: 7}}
	require.EqualValues(t, 40*kib, tr.readFull(&walker{reader: r}, true).RSS)
	require.EqualValues(t, 40*kib, tr.readLight(r).RSS)
	stat(2000)
	require.Equal(t, TreeMemory{HasPSS: true}, tr.readLight(r))
	require.Equal(t, TreeMemory{HasPSS: true}, tr.readFull(&walker{reader: r}, true))
}
