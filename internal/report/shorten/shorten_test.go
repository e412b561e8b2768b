package shorten

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"aäb", 2, "a"}, {"aäb", 3, "aä"}, {"日本", 5, "日"}, {"\x80\x80", 1, ""},
	} {
		if got := Bytes(c.text, c.limit); got != c.want {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("aäb", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := Bytes(s, limit)
		if !strings.HasPrefix(s, got) || len(got) > max(limit, 0) || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("Bytes(%q, %d) = %q", s, limit, got)
		}
	})
}
