//go:build !lens_noop && unix

package failuremodes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nemo-lens/lens"
)

var printsResults = program("F1", func() {
	h := mustSetUp()
	for i := range 20 {
		_, span := lens.ManagedSpan(context.Background(), lens.Evaluate, "evaluate")
		fmt.Printf("{\"result\": %d}\n", i)
		lens.End(span, nil)
		check(h.ForceFlush(context.Background()), 80)
	}
	check(h.Shutdown(context.Background()), 81)
})

func TestF1StandardOutput(t *testing.T) {
	t.Parallel()
	base := []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0", "NEMO_LENS_MISSPELT=1"}
	kinds := func(t *testing.T, text string) (results, spans int) {
		t.Helper()
		for line := range strings.Lines(text) {
			var object map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &object), line)
			if _, ok := object["result"]; ok {
				results++
			} else {
				require.Equal(t, "evaluate", object["Name"])
				spans++
			}
		}
		return results, spans
	}
	t.Run("spans on it", func(t *testing.T) {
		t.Parallel()
		p := runChild(t, printsResults, base...)
		require.Zero(t, p.status(t), &p.stderr)
		results, spans := kinds(t, p.stdout.String())
		require.Equal(t, 20, results)
		require.Equal(t, 20, spans)
		require.Contains(t, p.stderr.String(), "NEMO_LENS_MISSPELT", "what lens has to say is elsewhere")
	})
	t.Run("spans in a file", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "spans.jsonl")
		p := runChild(t, printsResults, append(base, "NEMO_LENS_EXPORTER_FILE="+file)...)
		require.Zero(t, p.status(t), &p.stderr)
		results, spans := kinds(t, p.stdout.String())
		require.Equal(t, 20, results)
		require.Zero(t, spans)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, spans = kinds(t, string(text))
		require.Equal(t, 20, spans)
	})
	t.Run("spans to a receiver", func(t *testing.T) {
		t.Parallel()
		p := runChild(t, printsResults, append(base, "NEMO_LENS_EXPORTER=none")...)
		require.Zero(t, p.status(t), &p.stderr)
		results, spans := kinds(t, p.stdout.String())
		require.Equal(t, 20, results)
		require.Zero(t, spans)
	})
}

var survivesOutput = program("F2", func() {
	h := mustSetUp()
	makeSpans(100)
	err := h.Shutdown(context.Background())
	fmt.Fprintln(os.Stderr, "alive:", err)
})

func TestF2ADeadOutputDoesNotEndTheProgram(t *testing.T) {
	t.Parallel()
	env := []string{"NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_SPAN_GROUPS=all", "NEMO_LENS_METRICS_ENABLED=0"}
	t.Run("full disk", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat("/dev/full"); err != nil {
			return // a system without one
		}
		p := runChild(t, survivesOutput, append(env, "NEMO_LENS_EXPORTER_FILE=/dev/full")...)
		require.Zero(t, p.status(t), &p.stderr)
		require.Contains(t, p.stderr.String(), "alive:")
		require.Contains(t, p.stderr.String(), "100 of 100 spans lost")
	})
	t.Run("a pipe that nobody reads", func(t *testing.T) { // A1
		t.Parallel()
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		p := newChild(t, survivesOutput, append(env, "NEMO_LENS_SHUTDOWN_TIMEOUT=300ms")...)
		p.Stdout = w
		p.start(t)
		require.NoError(t, w.Close())
		require.Zero(t, p.status(t), &p.stderr)
		require.Less(t, p.took, limit)
		require.Contains(t, p.stderr.String(), "100 of 100 spans lost")
	})
	t.Run("closed pipe", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		p := newChild(t, survivesOutput, env...)
		p.Stdout = w
		p.start(t)
		require.NoError(t, w.Close())
		require.Zero(t, p.status(t), &p.stderr)
		require.Contains(t, p.stderr.String(), "alive:")
		require.Contains(t, p.stderr.String(), "100 of 100 spans lost")
	})
}
