//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const (
	asVictim = "LENS_FLIGHT_TEST_VICTIM" // the directory of a process that is to be killed
	howOften = "LENS_FLIGHT_KILLS"       // more than a dozen, on request
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asVictim); dir != "" {
		victim(dir)
		return
	}
	os.Exit(m.Run())
}

// victim works until it is killed. Four goroutines start and end spans as fast as
// they can; four others say of each span, in a file each, when it has been begun
// and when it is about to end.
func victim(dir string) {
	r, err := Open(Options{Dir: dir, RunID: "killed", Rank: 3, WorldSize: 8})
	if err != nil {
		panic(err)
	}
	for range 4 {
		go func() {
			for {
				s := consistent(rand.Uint32())
				slot := r.Begin(s)
				r.SetAttributes(slot, []attribute.KeyValue{attribute.String("late", s.Name)})
				r.End(slot, s.Start, codes.Unset)
			}
		}()
	}
	for i := range 4 {
		go func() {
			said, err := os.OpenFile(filepath.Join(dir, "said-"+strconv.Itoa(i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				panic(err)
			}
			say := func(what byte, id trace.SpanID) {
				line := append([]byte{what}, hex.EncodeToString(id[:])...)
				if _, err := said.Write(append(line, '\n')); err != nil {
					panic(err)
				}
			}
			for {
				outer, inner := start("outer", attribute.Int("i", i)), start("inner")
				a := r.Begin(outer)
				say('+', outer.SpanID)
				b := r.Begin(inner)
				say('+', inner.SpanID)
				say('-', inner.SpanID)
				r.End(b, time.Now().UnixNano(), codes.Ok)
				say('=', inner.SpanID)
				say('-', outer.SpanID)
				r.End(a, time.Now().UnixNano(), codes.Ok)
				say('=', outer.SpanID)
			}
		}()
	}
	select {}
}

// Processes are killed at any moment. Every file reads back, what was open by their
// own account is open in it, what had ended is not, and nothing is torn.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 12
	if n, err := strconv.Atoi(os.Getenv(howOften)); err == nil {
		kills = n
	}
	self, err := os.Executable()
	require.NoError(t, err)
	open, ended, unfinished := 0, 0, 0
	for range kills {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), asVictim+"="+dir)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			for i := range 4 {
				if info, err := os.Stat(filepath.Join(dir, "said-"+strconv.Itoa(i))); err != nil || info.Size() == 0 {
					return false
				}
			}
			return true
		}, long, time.Millisecond, "it does not begin")
		time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Empty(t, stderr.String())

		files, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
		require.NoError(t, err)
		require.Len(t, files, 1)
		f, err := Read(files[0])
		require.NoError(t, err)
		assert.Equal(t, "killed", f.RunID)
		assert.Equal(t, 3, f.Rank)
		assert.EqualValues(t, cmd.Process.Pid, f.PID)
		assert.True(t, f.Closed.IsZero())
		assert.False(t, f.LastSeen.IsZero())
		assert.Zero(t, f.MissedOpen)
		inFile := map[string]bool{}
		for _, s := range append(f.Open, f.Ended...) {
			if s.Name == "outer" || s.Name == "inner" {
				inFile[s.SpanID.String()] = s.End.IsZero()
				continue
			}
			assertConsistent(t, s)
		}
		mustBeOpen, mustNotBeOpen := account(t, dir)
		for id := range mustBeOpen {
			assert.True(t, inFile[id], "span %s was open", id)
		}
		for id := range mustNotBeOpen {
			assert.False(t, inFile[id], "span %s had ended", id)
		}
		open, ended, unfinished = open+len(f.Open), ended+len(f.Ended), unfinished+f.Unfinished
		assert.LessOrEqual(t, f.Unfinished, 8, "one for each goroutine at most")
	}
	t.Logf("%d processes were killed: %d spans open, %d finished, %d slots in the middle of being filled", kills, open, ended, unfinished)
}

// account is what a process said of its spans.
func account(t *testing.T, dir string) (mustBeOpen, mustNotBeOpen map[string]bool) {
	t.Helper()
	mustBeOpen, mustNotBeOpen = map[string]bool{}, map[string]bool{}
	for i := range 4 {
		data, err := os.ReadFile(filepath.Join(dir, "said-"+strconv.Itoa(i)))
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			if len(line) < 18 {
				break // the kill came in the middle of the line: the call had not returned
			}
			id := string(line[1:17])
			switch line[0] {
			case '+':
				mustBeOpen[id] = true
			case '-':
				delete(mustBeOpen, id)
			case '=':
				mustNotBeOpen[id] = true
			}
		}
	}
	return mustBeOpen, mustNotBeOpen
}
