//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
)

// long is far more than anything here takes.
const long = 30 * time.Second

func told(t *testing.T, faults <-chan error) error {
	t.Helper()
	select {
	case err := <-faults:
		return err
	case <-time.After(long):
		t.Fatal("nothing was said")
		return nil
	}
}

// A store behind the end of a file is a SIGBUS. It ends the recorder, not the
// program.
func TestATruncatedFileEndsTheRecorderOnly(t *testing.T) {
	faults := make(chan error, 10)
	r := open(t, Options{OnFault: func(err error) { faults <- err }})
	early := r.Begin(start("early"))
	require.NoError(t, os.Truncate(r.Path(), headerSize))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				r.End(r.Begin(start("span")), time.Now().UnixNano(), codes.Unset)
			}
		})
	}
	all.Wait()
	err := told(t, faults)
	assert.ErrorContains(t, err, r.Path())
	assert.ErrorContains(t, err, "it records no more")
	assert.Zero(t, r.Begin(start("span")))
	r.End(early, time.Now().UnixNano(), codes.Unset)
	assert.False(t, debug.SetPanicOnFault(false), "the goroutine is as it was")
	f := readBack(t, r)
	assert.Equal(t, DefaultSlots, f.Absent)
}

// The whole file is gone; the signs of life notice by themselves.
func TestAnEmptiedFileIsNoticed(t *testing.T) {
	faults := make(chan error, 10)
	r := open(t, Options{OnFault: func(err error) { faults <- err }})
	require.NoError(t, os.Truncate(r.Path(), 0))
	assert.ErrorContains(t, told(t, faults), r.Path())
	_, err := Read(r.Path())
	assert.EqualError(t, err, r.Path()+": is empty")
}

func TestADeletedFileIsSaid(t *testing.T) {
	faults := make(chan error, 10)
	r := open(t, Options{OnFault: func(err error) { faults <- err }})
	require.NoError(t, os.Remove(r.Path()))
	assert.ErrorContains(t, told(t, faults), "somebody has deleted "+r.Path())
	assert.NotZero(t, r.Begin(start("the memory is still there")))
}

// A fault that is not the file's is the program's own.
func TestAnotherFaultIsNotTaken(t *testing.T) {
	r := open(t, Options{Redact: func(string) bool { panic("the program's") }})
	s := consistent(1)
	assert.PanicsWithValue(t, "the program's", func() { r.Begin(s) })
	assert.False(t, debug.SetPanicOnFault(false))
}

const inNamespace = "LENS_FLIGHT_TEST_SMALL_DISK"

// A disk of 64 KiB takes a file of 64 slots and none of 256: an error at the start,
// and no file is left.
func TestAFullDiskIsAnErrorAtTheStart(t *testing.T) {
	if dir := os.Getenv(inNamespace); dir != "" {
		_, err := Open(Options{Dir: dir})
		require.ErrorContains(t, err, "no space left on device")
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
		r := open(t, Options{Dir: dir, Slots: 64})
		require.NotZero(t, r.Begin(start("span")))
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("a small disk is made on Linux only")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	script := `mount -t tmpfs -o size=64k none "$1" && exec "$2" -test.run='^TestAFullDiskIsAnErrorAtTheStart$' -test.v`
	cmd := exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none "+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: a small disk cannot be mounted here: %v: %s", err, out)
	}
	cmd = exec.Command("unshare", "-rm", "sh", "-c", script, "sh", dir, self)
	cmd.Env = append(os.Environ(), inNamespace+"="+filepath.Join(dir, "flight"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "PASS")
}
