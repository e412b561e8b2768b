//go:build !lens_noop && unix

package failuremodes

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of doc.go has every case, and every test that it names exists.
func TestTheTableIsTrue(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	}))
	for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+…?`).FindAllString(string(doc), -1) {
		prefix, family := strings.CutSuffix(name, "…")
		found := tests[name]
		for test := range tests {
			found = found || family && strings.HasPrefix(test, prefix)
		}
		require.True(t, found, "no test %s", name)
	}
	cases := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([A-F])\d+ `).FindAllStringSubmatch(string(doc), -1) {
		cases[m[1]]++
	}
	require.Equal(t, map[string]int{"A": 10, "B": 8, "C": 22, "D": 10, "E": 17, "F": 8}, cases)
}
