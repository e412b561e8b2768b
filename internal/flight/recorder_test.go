//go:build unix && !aix && !solaris && !illumos

package flight

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
)

func open(t testing.TB, o Options) *Recorder {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func readBack(t testing.TB, r *Recorder) *File {
	t.Helper()
	f, err := Read(r.Path())
	require.NoError(t, err)
	return f
}

func start(name string, attrs ...attribute.KeyValue) *Start {
	s := &Start{Name: name, Group: "step", Start: time.Now().UnixNano(), Attributes: attrs}
	for i := range s.TraceID {
		s.TraceID[i] = byte(rand.Uint32())
	}
	for i := range s.SpanID {
		s.SpanID[i] = byte(rand.Uint32())
	}
	return s
}

func TestAFileHasWhatIsGoingOn(t *testing.T) {
	dir := t.TempDir()
	r := open(t, Options{Dir: dir, RunID: "run/1", Host: "node-7", Service: "trainer", Rank: 5, WorldSize: 512, Restart: 2})
	assert.Equal(t, dir, filepath.Dir(r.Path()))
	assert.Regexp(t, `^run_1_[0-9a-f]{8}-rank00005-node-7-\d+-\d{8}T\d{6}\.\d{9}\.flight$`, filepath.Base(r.Path()))

	step := start("train.step", attribute.Int("dl.iteration", 20), attribute.String("phase", "warm-up"), attribute.Bool("b", true), attribute.Float64("f", 0.5))
	stepSlot := r.Begin(step)
	child := start("train.allreduce")
	child.TraceID, child.ParentID = step.TraceID, step.SpanID
	childSlot := r.Begin(child)
	done := start("train.forward")
	end := done.Start + 1
	r.End(r.Begin(done), end, codes.Error)
	r.SetAttributes(childSlot, []attribute.KeyValue{attribute.Int("n", 1), attribute.Int("n", 2)})

	f := readBack(t, r)
	assert.Equal(t, "run/1", f.RunID)
	assert.Equal(t, "node-7", f.Host)
	assert.Equal(t, "trainer", f.Service)
	assert.Equal(t, []int{5, 512, 2}, []int{f.Rank, f.WorldSize, f.Restart})
	assert.EqualValues(t, os.Getpid(), f.PID)
	assert.Zero(t, f.Closed)
	assert.Zero(t, f.Unfinished+f.Absent)
	require.Len(t, f.Open, 2)
	got := f.Open[0]
	assert.Equal(t, "train.step", got.Name)
	assert.Equal(t, "step", got.Group)
	assert.Equal(t, step.TraceID, got.TraceID)
	assert.Equal(t, step.SpanID, got.SpanID)
	assert.False(t, got.ParentID.IsValid())
	assert.Equal(t, step.Start, got.Start.UnixNano())
	assert.Equal(t, step.Attributes, got.Attributes)
	assert.False(t, got.Cut || got.Missing)
	assert.Equal(t, step.SpanID, f.Open[1].ParentID)
	assert.Equal(t, []attribute.KeyValue{attribute.Int("n", 2)}, f.Open[1].Attributes)
	require.Len(t, f.Ended, 1)
	assert.Equal(t, "train.forward", f.Ended[0].Name)
	assert.Equal(t, end, f.Ended[0].End.UnixNano())
	assert.Equal(t, codes.Error, f.Ended[0].Status)

	r.End(childSlot, time.Now().UnixNano(), codes.Ok)
	r.End(stepSlot, time.Now().UnixNano(), codes.Unset)
	r.Close()
	r.Close()
	assert.Zero(t, r.Begin(start("after the end")))
	f = readBack(t, r)
	assert.False(t, f.Closed.IsZero())
	assert.Empty(t, f.Open)
	require.Len(t, f.Ended, 3)
	assert.Equal(t, "train.step", f.Ended[0].Name)
	assert.Equal(t, codes.Ok, f.Ended[1].Status)
	assert.EqualValues(t, 3, f.StartedCount)
	assert.EqualValues(t, 3, f.EndedCount)
}

func TestNamesOfFiles(t *testing.T) {
	now := time.Now()
	for id, want := range map[string]string{
		"run-1": "run-1", "": "run", "job.42_a": "job.42_a", "../../etc": "_.._etc_", "a-rank00001-b": "a_rank00001-b_", strings.Repeat("x", 60): strings.Repeat("x", 48) + "_",
	} {
		name := fileName(Options{RunID: id, Rank: 7, Host: "node-1.example"}, 42, now)
		run, rank, start, ok := ParseName("/some/where/" + name)
		require.True(t, ok, name)
		assert.Equal(t, RunInName(id), run)
		assert.True(t, strings.HasPrefix(run, want), run)
		assert.Equal(t, 7, rank)
		assert.True(t, start.Equal(now.Round(0)), name)
		assert.Equal(t, name, filepath.Base(name))
	}
	assert.NotEqual(t, RunInName("a/b"), RunInName("a_b"))
	for _, name := range []string{"", "a.flight", "run-rank00001-h-1-20261203T000000.000000000", "run-rank00001-h-1-99999999T000000.000000000.flight"} {
		_, _, _, ok := ParseName(name)
		assert.False(t, ok, name)
	}
}

func TestWhatDoesNotFitIsCutAndSaid(t *testing.T) {
	r := open(t, Options{Redact: func(key string) bool { return key == "prompt" }})
	long := strings.Repeat("é", 100)
	s := start(long, attribute.String("text.long", long), attribute.String("prompt", "secret words"),
		attribute.StringSlice("several", []string{"a"}), attribute.String("k"+long, "v"))
	s.Group = long
	slot := r.Begin(s)
	f := readBack(t, r)
	require.Len(t, f.Open, 1)
	got := f.Open[0]
	assert.Equal(t, strings.Repeat("é", maxName/2), got.Name)
	assert.Equal(t, strings.Repeat("é", maxGroup/2), got.Group)
	assert.True(t, got.Cut)
	assert.True(t, got.Missing)
	assert.Equal(t, []attribute.KeyValue{attribute.String("text.long", strings.Repeat("é", maxValue/2)+"…"), attribute.String("prompt", "[REDACTED]")},
		got.Attributes)

	r.SetAttributes(slot, []attribute.KeyValue{attribute.String("more", long), attribute.Int("n", 1)})
	f = readBack(t, r)
	assert.Equal(t, attribute.Int("n", 1), f.Open[0].Attributes[2], "the text has no room, the number has")
	data, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	assert.NotContains(t, string(data), "secret words")
}

// Those that have been open longest keep their slots, and the last finished spans
// stay although all slots for open spans are taken.
func TestMoreOpenSpansThanSlots(t *testing.T) {
	r := open(t, Options{Slots: 64})
	for range 20 {
		r.End(r.Begin(start("early")), time.Now().UnixNano(), codes.Unset)
	}
	var slots []int32
	for range 100 {
		slots = append(slots, r.Begin(start("open")))
	}
	f := readBack(t, r)
	require.Len(t, f.Open, 48)
	assert.EqualValues(t, 52, f.Missed)
	assert.EqualValues(t, 52, f.MissedOpen)
	assert.NotEmpty(t, f.Ended)
	for i, slot := range slots {
		assert.Equal(t, i < 48, slot > 0)
		r.End(slot, time.Now().UnixNano(), codes.Unset)
	}
	f = readBack(t, r)
	assert.Empty(t, f.Open)
	assert.EqualValues(t, 52, f.Missed)
	assert.Zero(t, f.MissedOpen)
	assert.GreaterOrEqual(t, len(f.Ended), 48)
}

// A slot is used again only when the others that wait have been.
func TestTheLastFinishedSpansStay(t *testing.T) {
	r := open(t, Options{Slots: 32}) // two a shard, one of them in reserve
	begun := time.Now()
	r.End(r.Begin(start("first")), begun.UnixNano(), codes.Unset)
	assert.Zero(t, readBack(t, r).CompleteSince)
	for i := range 1000 {
		r.End(r.Begin(start("span", attribute.Int("i", i))), begun.Add(time.Duration(i)*time.Second).UnixNano(), codes.Unset)
	}
	f := readBack(t, r)
	since := int(f.CompleteSince.Sub(begun) / time.Second)
	require.Greater(t, since, 0)
	for i := since; i < 1000; i++ {
		assert.True(t, slices.ContainsFunc(f.Ended, func(s Span) bool { return s.Attributes[0].Value.AsInt64() == int64(i) }), "%d since %d", i, since)
	}
	require.NotEmpty(t, f.Ended)
	assert.Equal(t, attribute.Int("i", 999), f.Ended[0].Attributes[0])
	assert.Equal(t, attribute.Int("i", 998), f.Ended[1].Attributes[0])
}

// What is read while everything changes is whole.
func TestReadingWhileWriting(t *testing.T) {
	r := open(t, Options{Slots: 64})
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := consistent(rand.Uint32())
				slot := r.Begin(s)
				r.SetAttributes(slot, []attribute.KeyValue{attribute.String("late", s.Name)})
				r.End(slot, s.Start, codes.Unset)
			}
		})
	}
	for range 300 {
		f := readBack(t, r)
		for _, s := range append(f.Open, f.Ended...) {
			assertConsistent(t, s)
		}
	}
	close(stop)
	writers.Wait()
}

// consistent makes a span of which every part tells every other.
func consistent(n uint32) *Start {
	text := strings.Repeat(string(rune('a'+n%26)), 1+int(n%40))
	s := &Start{Name: text, Group: text[:min(len(text), 20)], Start: 1e18 + int64(n%26), Attributes: []attribute.KeyValue{attribute.String("same", text)}}
	for i := range s.TraceID {
		s.TraceID[i] = text[0]
	}
	for i := range s.SpanID {
		s.SpanID[i], s.ParentID[i] = text[0], text[0]
	}
	s.SpanID[7] = byte(n >> 8) // another shard
	return s
}

func assertConsistent(t testing.TB, s Span) {
	t.Helper()
	ok := s.Name != ""
	letter := s.Name[0]
	ok = ok && strings.Trim(s.Name, string(letter)) == "" && s.Group == s.Name[:min(len(s.Name), 20)] && s.Start.UnixNano() == 1e18+int64(letter-'a')
	for i := range s.TraceID {
		ok = ok && s.TraceID[i] == letter
	}
	for i := range 7 {
		ok = ok && s.SpanID[i] == letter && s.ParentID[i] == letter
	}
	ok = ok && len(s.Attributes) > 0
	for _, kv := range s.Attributes {
		ok = ok && kv.Value.AsString() == s.Name
	}
	if !ok {
		t.Fatalf("a torn span: %+v", s)
	}
}

func TestOpenRefuses(t *testing.T) {
	_, err := Open(Options{})
	assert.ErrorContains(t, err, "no directory")
	_, err = Open(Options{Dir: t.TempDir(), Slots: MaxSlots + 1})
	assert.ErrorContains(t, err, "65537 slots: want 1 to 65536")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(Options{Dir: filepath.Join(file, "below")})
	assert.ErrorContains(t, err, "flight recorder: the directory: ")
	if os.Getuid() != 0 {
		locked := filepath.Join(t.TempDir(), "locked")
		require.NoError(t, os.Mkdir(locked, 0o500))
		_, err = Open(Options{Dir: locked})
		assert.ErrorContains(t, err, "permission denied")
	}
}

func TestNothingOnANilRecorder(t *testing.T) {
	var r *Recorder
	r.End(r.Begin(start("span")), 0, codes.Unset)
	r.SetAttributes(1, []attribute.KeyValue{attribute.Bool("b", true)})
	r.Close()
	assert.Empty(t, r.Path())
}

func TestNoAllocation(t *testing.T) {
	r := open(t, Options{})
	s := start("train.step", attribute.Int("dl.iteration", 20), attribute.String("phase", "warm-up"))
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		slot := r.Begin(s)
		r.SetAttributes(slot, s.Attributes)
		r.End(slot, s.Start, codes.Unset)
	}))
}

// The time of the processor is what counts where a machine is shared.
func BenchmarkSpan(b *testing.B) {
	r := open(b, Options{})
	s := start("train.step", attribute.Int("dl.iteration", 20), attribute.String("phase", "warm-up"))
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		before := cpu()
		for i := 0; b.Loop(); i++ {
			s.SpanID[7] = byte(i)
			r.End(r.Begin(s), s.Start, codes.Unset)
		}
		b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(4)
		before := cpu()
		b.RunParallel(func(pb *testing.PB) {
			s := *s
			for i := 0; pb.Next(); i++ {
				s.SpanID[7] = byte(i)
				r.End(r.Begin(&s), s.Start, codes.Unset)
			}
		})
		b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
	})
}

func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
