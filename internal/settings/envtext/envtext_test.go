package envtext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " ": "", "a": "a", " a ": "a", `"checkout"`: "checkout", `'checkout'`: "checkout",
		` " a " `: "a", `""`: "", `"`: `"`, `'a"`: `'a"`, `""a""`: `"a"`, `a "b"`: `a "b"`, `"a`: `"a`,
	} {
		require.Equal(t, want, Clean(text), "%q", text)
	}
}

func TestFirst(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": ` "" `, "B": `"x"`}
	text, name := First(func(n string) (string, bool) { v, ok := env[n]; return v, ok }, "A", "B")
	require.Equal(t, []string{"x", "B"}, []string{text, name})
	text, name = First(func(string) (string, bool) { return "", false }, "A")
	require.Empty(t, text+name)
}

func TestBool(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1", "TRUE", "Yes", "on"} {
		b, err := Bool(text)
		require.True(t, b && err == nil, text)
	}
	for _, text := range []string{"0", "False", "no", "OFF"} {
		b, err := Bool(text)
		require.True(t, !b && err == nil, text)
	}
	for _, text := range []string{"", "2", "t", "y", "enabled", "tru"} {
		b, err := Bool(text)
		require.False(t, b)
		require.ErrorContains(t, err, Bools, text)
	}
}

func FuzzText(f *testing.F) {
	f.Add(`"a"`, 3)
	f.Add(strings.Repeat("é", 100), 41)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		clean := Clean(text)
		if len(clean) > len(text) || strings.TrimSpace(clean) != clean {
			t.Fatalf("Clean(%q) = %q", text, clean)
		}
		limit = max(1, min(limit&0xff, 200))
		short := Shorten(text, limit)
		if len(short) > limit+3 || utf8.ValidString(text) && !utf8.ValidString(short) {
			t.Fatalf("Shorten(%q, %d) = %q", text, limit, short)
		}
	})
}
