//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

// Spans start, change and end while the file is let go of, and afterwards. None writes
// into what is no longer the file's, and none is told of a fault.
func TestCloseWhileSpansAreWritten(t *testing.T) {
	for range 50 {
		faults := make(chan error, 10)
		r := open(t, Options{OnFault: func(err error) { faults <- err }})
		closed := make(chan struct{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for after := 0; after < 100; {
					select {
					case <-closed:
						after++
					default:
					}
					slot := r.Begin(start("span", attribute.String("phase", "warm-up")))
					r.SetAttributes(slot, []attribute.KeyValue{attribute.Int("n", 1)})
					r.End(slot, time.Now().UnixNano(), codes.Unset)
				}
			})
		}
		time.Sleep(time.Millisecond)
		r.Close()
		close(closed)
		all.Wait()
		f := readBack(t, r)
		assert.False(t, f.Closed.IsZero())
		assert.LessOrEqual(t, len(f.Open)+f.Unfinished, 8, "one for each goroutine at most")
		assert.Empty(t, faults)
	}
}

// A goroutine that was stopped in the middle of Begin goes on after Close.
func TestAStoreAfterCloseIsAFaultThatEndsHere(t *testing.T) {
	faults := make(chan error, 10)
	r := open(t, Options{OnFault: func(err error) { faults <- err }})
	slot := r.Begin(start("span"))
	r.Close()
	before, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	for _, late := range []func(){
		func() { assert.Zero(t, r.Begin(start("late"))) },
		func() { r.SetAttributes(slot, []attribute.KeyValue{attribute.Int("n", 1)}) },
		func() { r.End(slot, time.Now().UnixNano(), codes.Unset) },
		func() { r.End(0, time.Now().UnixNano(), codes.Unset) },
	} {
		r.stopped.Store(false) // it was looked at before Close
		assert.NotPanics(t, late)
		assert.True(t, r.stopped.Load(), "there was a fault")
	}
	after, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Empty(t, faults)
}

// The file is let go of at once, and the addresses once nobody has the recorder.
func TestCloseUnmaps(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the mappings are looked at on Linux only")
	}
	maps := func() string {
		data, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return string(data)
	}
	r, err := Open(Options{Dir: t.TempDir()})
	require.NoError(t, err)
	path := r.Path()
	address := fmt.Sprintf("%x-", uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))))
	require.Contains(t, maps(), path)
	r.Close()
	assert.NotContains(t, maps(), path)
	require.Contains(t, maps(), address)
	runtime.KeepAlive(r)
	deadline := time.Now().Add(long)
	for strings.Contains(maps(), address) && time.Now().Before(deadline) {
		runtime.GC()
	}
	assert.NotContains(t, maps(), address)
}
