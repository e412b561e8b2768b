package perfetto

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen"
	"github.com/nemo-lens/lens/cmd/nemo-lens/internal/tracegen/store"
)

func TestEventsAreThoseOfTheSpans(t *testing.T) {
	run := tracegen.Run{ID: "a", Ranks: 12, Steps: 5, Micro: 2, SlowRank: 2, Seed: 5, Start: 1_700_000_000e9, Batch: 16}
	s, err := store.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, s, nil); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Pid, Tid      int
			Ts, Dur       float64
			Args          map[string]any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	names, order := map[int]string{}, map[int]int{}
	spans, total := 0, 0.0
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph == "M" && e.Name == "process_name":
			names[e.Pid], _ = e.Args["name"].(string)
		case e.Ph == "M" && e.Name == "process_sort_index":
			n, _ := e.Args["sort_index"].(float64)
			order[e.Pid] = int(n)
		case e.Ph == "X":
			spans++
			total += e.Dur
			if e.Name == "train.step" && (e.Args["step"] == nil || e.Args["attributes"].(map[string]any)["dl.iteration"] != e.Args["step"]) {
				t.Errorf("a step has %v", e.Args)
			}
			if e.Tid != 1 {
				t.Errorf("%s is in lane %d: everything nests here", e.Name, e.Tid)
			}
		}
	}
	if spans != run.Ranks*run.Spans() || len(names) != run.Ranks {
		t.Errorf("%d spans of %d processes", spans, len(names))
	}
	want := 0.0
	for i := range s.Len() {
		want += float64(s.At(i).Duration) / 1000
	}
	if total < want*0.999999 || total > want*1.000001 {
		t.Errorf("the durations add up to %f µs, want %f", total, want)
	}
	// Ranks in their order: 2 before 10.
	pids := []int{}
	for pid := range names {
		pids = append(pids, pid)
	}
	slices.SortFunc(pids, func(a, b int) int { return order[a] - order[b] })
	for i, pid := range pids {
		if want := "rank " + string(rune('0'+i%10)); i < 10 && names[pid] != want {
			t.Errorf("process %d is %s, want %s", i, names[pid], want)
		}
	}
}

func TestMicrosecondsAreExact(t *testing.T) {
	for ns, want := range map[int64]string{0: "0", 1: "0.001", 1000: "1", 1234567: "1234.567", 1_700_000_000_000_000_001: "1700000000000000.001"} {
		if got := string(micro(nil, ns)); got != want {
			t.Errorf("%d: got %s, want %s", ns, got, want)
		}
	}
}
