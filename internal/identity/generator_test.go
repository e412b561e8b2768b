package identity_test

import (
	"bytes"
	"context"
	mathrand "math/rand"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nemo-lens/lens/internal/identity"
)

func TestMillionIDsInParallelWithoutDuplicate(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 125_000
	traces := make([]trace.TraceID, workers*each)
	spans := make([]trace.SpanID, workers*each)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * each; i < (w+1)*each; i += 2 {
				traces[i], spans[i] = identity.RandomTraceID(), identity.RandomSpanID()
				traces[i+1] = identity.RandomTraceID()
				spans[i+1] = identity.RandomSpanID()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(traces, func(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) })
	slices.SortFunc(spans, func(a, b trace.SpanID) int { return bytes.Compare(a[:], b[:]) })
	if !traces[0].IsValid() || !spans[0].IsValid() {
		t.Error("an id is 0")
	}
	if n := len(slices.Compact(traces)); n != workers*each {
		t.Errorf("%d different trace ids of %d", n, workers*each)
	}
	if n := len(slices.Compact(spans)); n != workers*each {
		t.Errorf("%d different span ids of %d", n, workers*each)
	}
}

// Every bit of an id must be able to be 0 and 1: no half is constant.
func TestIDsUseEveryBit(t *testing.T) {
	t.Parallel()
	var ones, zeros [24]byte
	for range 200 {
		tid, sid := identity.RandomIDs()
		for i, b := range append(tid[:], sid[:]...) {
			ones[i] |= b
			zeros[i] |= ^b
		}
	}
	for i := range ones {
		if ones[i] != 0xff || zeros[i] != 0xff {
			t.Errorf("byte %d: bits seen set %08b, seen clear %08b", i, ones[i], zeros[i])
		}
	}
}

func TestFixedTraceID(t *testing.T) {
	t.Parallel()
	want := identity.TraceID("run-1")
	tp := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(identity.FixedTraceID(want)))
	defer func() { _ = tp.Shutdown(context.Background()) }()
	seen := map[trace.SpanID]bool{}
	for range 100 {
		ctx, root := tp.Tracer("t").Start(context.Background(), "root")
		_, child := tp.Tracer("t").Start(ctx, "child")
		for _, sc := range []trace.SpanContext{root.SpanContext(), child.SpanContext()} {
			if sc.TraceID() != want || !sc.SpanID().IsValid() || seen[sc.SpanID()] {
				t.Fatalf("got %s/%s, want trace %s and a fresh span id", sc.TraceID(), sc.SpanID(), want)
			}
			seen[sc.SpanID()] = true
		}
	}
}

func TestGeneratorAllocatesNothing(t *testing.T) {
	var g sdktrace.IDGenerator = identity.FixedTraceID{1}
	n := testing.AllocsPerRun(100, func() {
		tid, _ := g.NewIDs(context.Background())
		g.NewSpanID(context.Background(), tid)
		identity.RandomTraceID()
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Two real processes that seed the application's generator the same way, and
// are alike in everything else, must not share an id.
func TestEquallySeededProcessesGetDifferentIDs(t *testing.T) {
	const marker = "LENS_TEST_ID_CHILD"
	if os.Getenv(marker) != "" {
		//lint:ignore SA1019 this is what frameworks do to every rank
		mathrand.Seed(1)
		for range 50 {
			tid, sid := identity.RandomTraceID(), identity.RandomSpanID()
			println("id", tid.String(), sid.String())
		}
		println("id", identity.NewRunID())
		return
	}
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEquallySeededProcessesGetDifferentIDs$")
		cmd.Env = append(os.Environ(), marker+"=1", "GODEBUG=randseednop=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			ids, ok := strings.CutPrefix(strings.TrimSpace(line), "id ")
			for id := range strings.FieldsSeq(ids) {
				if ok && seen[id] {
					t.Errorf("id %s occurs twice", id)
				}
				seen[id] = ok
			}
		}
	}
	if len(seen) < 200 {
		t.Errorf("the children printed %d ids, want 202", len(seen))
	}
}

func BenchmarkRandomIDs(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			identity.RandomTraceID()
			identity.RandomSpanID()
		}
	})
}
