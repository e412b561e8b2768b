package gate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sets are the shapes that have broken hashes of this kind: no names, one,
// names equal but for one byte anywhere, long common ends, many names.
func sets() map[string][]string {
	m := map[string][]string{
		"empty":      {},
		"blank":      {""},
		"one":        {"job"},
		"duplicates": {"job", "job", "step"},
		"base":       {"job", "checkpoint", "evaluate", "model_init", "load_checkpoint", "step", "forward_backward", "optimizer"},
		"any text":   {"", "\xff\xfe", "\x00", "Größe", "a", "aa", "aaa"},
	}
	long := strings.Repeat("x", 100)
	for i := range 256 {
		m["numbered"] = append(m["numbered"], fmt.Sprintf("group_%03d", i))
		m["plain numbers"] = append(m["plain numbers"], fmt.Sprint("group", i))
		m["middle"] = append(m["middle"], long+string(rune('a'+i%26))+fmt.Sprint(i)+long)
		m["all bytes"] = append(m["all bytes"], string([]byte{byte(i)}))
		m["four bytes"] = append(m["four bytes"], fmt.Sprintf("%c%c%c%c%s", 'a'+i%4, 'a'+i/4%4, 'a'+i/16%4, 'a'+i/64%4, "tail"))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		m["random"] = append(m["random"], fmt.Sprintf("%x", r.Uint64()>>r.IntN(60)))
	}
	return m
}

func TestSetAgainstMap(t *testing.T) {
	t.Parallel()
	all := sets()
	for name, names := range all {
		want := make(map[string]bool)
		for _, n := range names {
			want[n] = true
		}
		s := New(names)
		if s.Len() != len(want) {
			t.Errorf("%s: Len = %d, want %d", name, s.Len(), len(want))
		}
		for _, others := range all {
			for _, n := range others[:min(len(others), 300)] {
				if p := NewPointer(s); want[n] && !p.MayHave(len(n)) {
					t.Fatalf("%s: MayHave(%d) is false", name, len(n))
				}
				if s.Has(n) != want[n] {
					t.Fatalf("%s: Has(%q) = %t", name, n, s.Has(n))
				}
				for _, near := range []string{n + "x", "x" + n, strings.ToUpper(n)} {
					if s.Has(near) != want[near] {
						t.Fatalf("%s: Has(%q) = %t", name, near, s.Has(near))
					}
				}
			}
		}
		got := s.Names()
		if !slices.IsSorted(got) || len(got) != len(want) {
			t.Errorf("%s: Names is not the sorted set", name)
		}
		if len(got) > 0 {
			got[0] = "changed by the caller"
			if s.Has(got[0]) || s.Names()[0] == got[0] {
				t.Errorf("%s: the caller's slice reaches the set", name)
			}
		}
	}
}

func TestOrdinaryNamesHaveSlotsOfTheirOwn(t *testing.T) {
	t.Parallel()
	all := sets()
	shares := func(name string) (shared bool) {
		for _, e := range New(all[name]).table {
			shared = shared || e.next != nil
		}
		return shared
	}
	for _, name := range []string{"empty", "one", "base", "numbered", "plain numbers", "all bytes", "four bytes"} {
		if shares(name) {
			t.Errorf("%s: names share a slot, so a probe is slower than promised", name)
		}
	}
	if !shares("middle") {
		t.Error("names that differ only in the middle are not covered")
	}
}

func TestNil(t *testing.T) {
	t.Parallel()
	var s *Set
	if s.Has("") || s.Has("x") || s.Len() != 0 || s.Names() != nil {
		t.Error("a nil Set is not empty")
	}
}

func TestHasAllocatesNothing(t *testing.T) {
	for name, names := range sets() {
		s := New(names)
		if n := testing.AllocsPerRun(100, func() { s.Has("forward_backward"); s.Has("") }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzSet(f *testing.F) {
	f.Add("job,checkpoint,evaluate", "job")
	f.Add("", "")
	f.Add("step,step,\xff,,", "ste")
	f.Fuzz(func(t *testing.T, list, probe string) {
		names := strings.Split(list, ",")
		s := New(names)
		for _, n := range names {
			if !s.Has(n) {
				t.Fatalf("%q is missing from %q", n, names)
			}
		}
		if s.Has(probe) != slices.Contains(names, probe) {
			t.Fatalf("Has(%q) = %t in %q", probe, s.Has(probe), names)
		}
	})
}
