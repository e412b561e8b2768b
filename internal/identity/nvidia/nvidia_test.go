package nvidia

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFieldC9HiddenDevices(t *testing.T) {
	t.Parallel()
	devices := []Device{{0, "GPU-aa11"}, {1, "GPU-bb22"}, {2, "GPU-bc33"}, {3, "GPU-bb44"}}
	for _, c := range []struct {
		text  string
		want  []int
		count int // without knowledge of the host
	}{
		{"", nil, 0},
		{"  ", nil, 0},
		{"-1", nil, 0},
		{"NoDevFiles", nil, 0},
		{"all", nil, 0},
		{"none", nil, 0},
		{"0,-1,1", []int{0}, 1},
		{"0,,1", []int{0}, 1},
		{",", nil, 0},
		{" 3 , 1 ", []int{3, 1}, 2},
		{"1,", []int{1}, 1},
		{"1x,2y", []int{1, 2}, 2},
		{"0 1", []int{0}, 1},
		{"+2", []int{2}, 1},
		{"0,4,1", []int{0}, 3},
		{"99999999999999999999,1", nil, 0},
		{"0,1,0", nil, 0},
		{"GPU-bc", []int{2}, 1},
		{"GPU-bb", nil, 1}, // two devices fit
		{"GPU-aa,GPU-bb,GPU-bc", []int{0}, 3},
		{"GPU-bb22,GPU-bb4", []int{1, 3}, 2},
		{"GPU-aa,GPU-aa", nil, 0},
		{"GPU-aa,GPU-aa11", nil, 2}, // one device by two names
		{"GPU-", nil, 1},
		{"0,GPU-bc", []int{0}, 1},
		{"GPU-bc,0", []int{2}, 1},
		{"gpu-bc", nil, 0},
		{`"0,1"`, nil, 0}, // CUDA sees the quotes, too
		{"MIG-GPU-bc33/1/0,MIG-GPU-aa11/1/0", []int{2}, 1},
		{"MIG-7f9d-11", nil, 1},
	} {
		v := ParseVisible(c.text)
		assert.True(t, v.IsSet())
		assert.Equal(t, append([]int{}, c.want...), append([]int{}, v.Of(devices)...), "%q", c.text)
		assert.Equal(t, c.count, v.Count(nil), "%q", c.text)
		if !strings.HasPrefix(c.text, migPrefix) {
			assert.Equal(t, len(c.want), v.Count(devices), "%q", c.text)
		}
	}
	unset := ReadVisible(func(string) (string, bool) { return "", false })
	assert.Equal(t, []int{0, 1, 2, 3}, unset.Of(devices))
	assert.False(t, unset.IsSet())
	blank := ReadVisible(func(string) (string, bool) { return "", true })
	assert.Empty(t, blank.Of(devices))

	// Devices of which only the number is known: a UUID may be of one of them.
	bare := []Device{{Index: 0}, {Index: 1}}
	assert.Equal(t, 2, ParseVisible("GPU-a,GPU-b").Count(bare))
	assert.Empty(t, ParseVisible("GPU-a,GPU-b").Of(bare))
}

func TestFieldC10Rows(t *testing.T) {
	t.Parallel()
	out := "0, GPU-a, 50, 100\n" +
		"1, [N/A], N/A, [Not Supported]\r\n" +
		"WARNING: infoROM is corrupted at gpu 0000:0A:00.0\n" +
		"WARNING: one, two, three\n" +
		"\n" +
		"2, GPU-c, 1\n" +
		"3, GPU-d, 1, 2, 3\n" +
		"-1, GPU-e, 1, 2\n" +
		" 8 ,GPU-i,[Unknown Error],81920"
	assert.Equal(t, []Row{
		{0, []string{"GPU-a", "50", "100"}},
		{1, []string{"", "", ""}},
		{8, []string{"GPU-i", "", "81920"}},
	}, Rows(out, 3))
	assert.Empty(t, Rows("", 3))
}

// exitVar makes this test binary print a line and exit with the status that the
// variable holds.
const exitVar = "NVIDIA_TEST_EXIT"

func TestMain(m *testing.M) {
	if status, err := strconv.Atoi(os.Getenv(exitVar)); err == nil {
		_, _ = os.Stdout.WriteString("0, GPU-a\n")
		os.Exit(status)
	}
	os.Exit(m.Run())
}

func TestFieldC10ExitStatus(t *testing.T) {
	for status, warning := range map[string]bool{"0": false, "9": false, "14": true} {
		t.Setenv(exitVar, status)
		out, err := Run(t.Context(), os.Args[0])
		require.Equal(t, status == "0", err == nil)
		require.Equal(t, warning, IsWarning(err), status)
		require.Equal(t, []Row{{0, []string{"GPU-a"}}}, Rows(string(out), 1))
	}
	require.False(t, IsWarning(exec.ErrNotFound))
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "0,1", "GPU-a,GPU-ab", "0,GPU-a", "-1", "MIG-GPU-a/1/0", "99999999999999999999"} {
		f.Add(s)
	}
	devices := []Device{{0, "GPU-a"}, {1, "GPU-ab"}, {2, ""}}
	f.Fuzz(func(t *testing.T, text string) {
		v := ParseVisible(text)
		seen := map[int]bool{}
		for _, at := range v.Of(devices) {
			if at < 0 || at >= len(devices) || seen[at] {
				t.Fatalf("%q shows device %d", text, at)
			}
			seen[at] = true
		}
		if n := v.Count(devices); n < len(seen) || n > len(v.entries) {
			t.Fatalf("%q: %d devices, %d of them known", text, n, len(seen))
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add("0, GPU-a, [N/A]\nWARNING, x, y\n")
	f.Fuzz(func(t *testing.T, out string) {
		for _, r := range Rows(out, 2) {
			if r.Index < 0 || len(r.Fields) != 2 {
				t.Fatalf("%q: %+v", out, r)
			}
		}
	})
}
