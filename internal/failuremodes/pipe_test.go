//go:build !lens_noop && unix

package failuremodes

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/nemo-lens/lens"
)

func TestA4TheFileStaysOpenForAPatientCaller(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	tm := setUp(t, config(within(10*time.Second), func(c *lens.Config) { c.Exporter, c.ExporterFile = "console", fifo }))
	const made = 500 // more than a pipe holds
	makeSpans(made)
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, tm.Shutdown(short))
	lines := make(chan int)
	go func() {
		n := 0
		for s := bufio.NewScanner(r); s.Scan(); {
			if n++; n == made {
				break
			}
		}
		lines <- n
	}()
	require.NoError(t, tm.Shutdown(context.Background()))
	require.Equal(t, made, <-lines)
	require.NoError(t, r.Close())
}

func TestA1AStoppedReaderOfAPipe(t *testing.T) {
	before := goleak.IgnoreCurrent()
	fifo := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	tm := setUp(t, config(within(slack/10), func(c *lens.Config) { c.Exporter, c.ExporterFile = "console", fifo }))
	const made = 500 // more than a pipe holds
	makeSpans(made)
	took := bounded(t, "Shutdown", func() { err = tm.Shutdown(context.Background()) })
	require.Less(t, took, slack)
	require.ErrorContains(t, err, "spans lost")
	requireBalance(t, tm.Stats(), made)
	require.NoError(t, r.Close()) // the write fails, and its goroutine ends
	requireNoLeak(t, before)
}

func TestA1APipeWithoutAReader(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "spans")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	var err error
	bounded(t, "SetupTelemetry", func() {
		_, err = trySetUp(t, config(func(c *lens.Config) { c.Exporter, c.ExporterFile = "console", fifo }))
	})
	require.ErrorContains(t, err, "exporter_file")
}
