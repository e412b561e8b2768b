package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// checkTable asserts that the table in text has these spans with these counts, and
// that its columns make sense together.
func checkTable(t *testing.T, want map[string]int, text string) {
	t.Helper()
	_, table, ok := strings.Cut(text, "share of the run")
	require.True(t, ok, "there is a table in:\n%s", text)
	got := map[string]int{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) != 6 || !strings.HasPrefix(fields[0], "train.") {
			continue
		}
		count, err := strconv.Atoi(fields[1])
		require.NoError(t, err, line)
		got[fields[0]] = count
		total, err := time.ParseDuration(fields[2])
		require.NoError(t, err, line)
		mean, err := time.ParseDuration(fields[3])
		require.NoError(t, err, line)
		assert.LessOrEqual(t, mean, total, line)
		share, err := strconv.ParseFloat(fields[4], 64)
		require.NoError(t, err, line)
		assert.True(t, share >= 0 && share <= 100, line)
	}
	assert.Equal(t, want, got)
}

func TestSummaryAddsUpTheSpansItWasGiven(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time {
		return time.UnixMilli(1_700_000_000_000).Add(time.Duration(ms) * time.Millisecond)
	}
	s := newSpanSummary()
	for _, span := range []struct {
		name       string
		start, end int
	}{{"inner", 100, 200}, {"inner", 300, 600}, {"marker", 700, 700}, {"outer", 0, 1000}} {
		s.OnEnd(tracetest.SpanStub{Name: span.name, StartTime: at(span.start), EndTime: at(span.end)}.Snapshot())
	}
	var out bytes.Buffer
	require.NoError(t, s.write(&out))
	assert.Equal(t, ""+
		"    span  count  total   mean  share of the run\n"+
		"   outer      1     1s     1s           100.0 %\n"+
		"   inner      2  400ms  200ms            40.0 %\n"+
		"  marker      1     0s     0s             0.0 %\n", out.String())
}

func TestSummaryIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	s := newSpanSummary()
	var span sdktrace.ReadOnlySpan = tracetest.SpanStub{Name: "a", StartTime: time.UnixMilli(1), EndTime: time.UnixMilli(2)}.Snapshot()
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 100 {
				s.OnEnd(span)
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	assert.Equal(t, 800, s.names["a"].count)
	assert.Equal(t, 800*time.Millisecond, s.names["a"].total)
}

func TestReadableKeepsFourDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234: "1.234µs", 12_345_678: "12.346ms", 1_234_567_890: "1.235s", 61 * time.Second: "1m1s",
	} {
		assert.Equal(t, want, readable(in).String())
	}
}
