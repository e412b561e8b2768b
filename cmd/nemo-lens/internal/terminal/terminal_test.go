package terminal

import (
	"bytes"
	"strings"
	"testing"
)

func TestDurations(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0", 7: "7ns", 999: "999ns", 1000: "1.000µs", 12_345: "12.35µs", 999_960: "1.000ms", 123_456_000: "123.5ms", 59_999_000_000: "60.00s",
		125e9: "2m05s", 7320e9: "2h02m", -1500: "-1.500µs",
	} {
		if got := (Style{}).Duration(ns); got != want {
			t.Errorf("%d: got %s, want %s", ns, got, want)
		}
	}
	if got := (Style{ASCII: true}).Duration(1500); got != "1.500us" {
		t.Errorf("got %s", got)
	}
}

func TestTextFits(t *testing.T) {
	s := Style{}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日… "}, {"abc", 0, ""}, {"e\u0301a", 2, "e\u0301a"}} {
		if got := s.Fit(c.text, c.n); got != c.want {
			t.Errorf("Fit(%q, %d) is %q, want %q", c.text, c.n, got, c.want)
		}
	}
	if got := (Style{ASCII: true}).Fit("abcdef", 4); got != "ab.." {
		t.Errorf("got %q", got)
	}
}

// TestNothingFromAFileReachesTheTerminalRaw: a name may hold escape sequences.
func TestNothingFromAFileReachesTheTerminalRaw(t *testing.T) {
	if got, want := (Style{}).Clean("a\x1b[2Jb\x00\xffc\td\u202ee"), "a\uFFFD[2Jb\uFFFD\uFFFDc d\uFFFDe"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := (Style{ASCII: true}).Clean("é\x1bx"), "??x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestATableFitsItsWidth(t *testing.T) {
	columns := func() []Column {
		return []Column{{Title: "NAME"}, {Title: "FIRST", Drop: 1}, {Title: "SECOND"}, {Title: "THIRD", Drop: 2}}
	}
	rows := [][]string{{"a name that is rather long", "1", "2", "3"}, {"b", "100000", "2", "3"}}
	for width, want := range map[int]string{
		80: "NAME                         FIRST  SECOND  THIRD\na name that is rather long       1       2      3\nb                           100000       2      3\n",
		36: "NAME            FIRST  SECOND  THIRD\na name that …       1       2      3\nb              100000       2      3\n",
		30: "NAME             FIRST  SECOND\na name that i…       1       2\nb               100000       2\n",
		20: "NAME          SECOND\na name that…       2\nb                  2\n",
		9:  "…  SECOND\n…       2\nb       2\n",
	} {
		var out bytes.Buffer
		if err := (Style{Width: width}).Table(&out, columns(), rows, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, out.String(), want)
		}
		for line := range strings.Lines(out.String()) {
			if n := Columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %q has %d", width, line, n)
			}
		}
	}
}

func TestWhatTheTerminalShows(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	var out bytes.Buffer // no terminal
	for _, c := range []struct {
		env  func(string) string
		want Style
	}{
		{env("LANG", "en_US.UTF-8"), Style{Width: 100}},
		{env("LANG", "en_US.UTF-8", "LC_ALL", "C", "COLUMNS", "72"), Style{Width: 72, ASCII: true}},
		{env("LC_CTYPE", "C.utf8", "COLUMNS", "x"), Style{Width: 100}},
	} {
		if got := Detect(&out, c.env); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
	if got := (Style{}).Paint(Red, "x"); got != "x" {
		t.Errorf("colour without a terminal: %q", got)
	}
	if got := (Style{Color: true}).Paint(Red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
}
