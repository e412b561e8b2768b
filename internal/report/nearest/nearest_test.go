package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"all", "default", "job", "optimizer", "per_step", "step", "SPAN_GROUPS"}
	for word, want := range map[string]string{
		"per_stpe": "per_step", "stpe": "step", "jobs": "job", "SPAN_GROUP": "SPAN_GROUPS",
		"span_groups": "SPAN_GROUPS", "optimiser": "optimizer", "defalt": "default",
		"zzz": "", "": "", "x": "", strings.Repeat("step", 100): "",
	} {
		got, ok := Nearest(word, names)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %t; want %q", word, got, ok, want)
		}
	}
	for _, c := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"ac", []string{"ad", "ab"}, "ab"},         // a tie
		{"step", []string{"stap", "STEP"}, "STEP"}, // nearer in another case
		{"日本", []string{"日本語"}, "日本語"},             // characters, not bytes
		{"a", []string{"b", ""}, ""},
		{"job", nil, ""},
		{"job", []string{strings.Repeat("job", 1000)}, ""},
	} {
		if got, ok := Nearest(c.word, c.candidates); got != c.want || ok != (c.want != "") {
			t.Errorf("Nearest(%q, %q) = %q, %t; want %q", c.word, c.candidates, got, ok, c.want)
		}
	}
}

// Lower case of these is longer in bytes: the capital Ⱥ by half, and a byte
// that is not UTF-8 three times.
func TestLowerCaseIsLonger(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"Ⱥ", "\xff", "İ"} {
		name := strings.Repeat(unit, maxLength/len(unit))
		for _, word := range []string{name, "x", strings.Repeat("x", maxLength)} {
			got, ok := Nearest(word, []string{name})
			if ok != (word == name) || (ok && got != name) {
				t.Errorf("Nearest(%q, %q) = %q, %t", word, name, got, ok)
			}
		}
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("per_stpe", "per_step,step")
	f.Add("\xff", "")
	f.Add("x", strings.Repeat("Ⱥ", 32))
	f.Fuzz(func(t *testing.T, word, list string) {
		candidates := strings.Split(list, ",")
		before := slices.Clone(candidates)
		got, ok := Nearest(word, candidates)
		if !slices.Equal(candidates, before) {
			t.Fatalf("Nearest changed the candidates %q to %q", before, candidates)
		}
		if ok && !slices.Contains(candidates, got) {
			t.Fatalf("Nearest(%q, %q) invented %q", word, candidates, got)
		}
		if ok && (word == "" || got == "") {
			t.Fatalf("Nearest(%q, %q) = %q", word, candidates, got)
		}
		// The order of the candidates does not matter.
		slices.Reverse(candidates)
		if again, _ := Nearest(word, candidates); again != got {
			t.Fatalf("Nearest(%q, %q) = %q, and %q in the other order", word, before, got, again)
		}
	})
}
