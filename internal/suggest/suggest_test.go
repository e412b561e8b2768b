package suggest

import (
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
	if got, _ := Nearest("ac", []string{"ad", "ab"}); got != "ab" {
		t.Errorf("a tie gave %q, want the first by alphabet", got)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("per_stpe", "per_step,step")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, word, list string) {
		candidates := strings.Split(list, ",")
		got, ok := Nearest(word, candidates)
		if !ok {
			return
		}
		for _, c := range candidates {
			if c == got {
				return
			}
		}
		t.Fatalf("Nearest(%q, %q) invented %q", word, candidates, got)
	})
}
