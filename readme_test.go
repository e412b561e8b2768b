package lens

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadmeProgramCompiles(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "```go\n")
	require.True(t, ok, "the README has no Go program")
	program, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	out, err := exec.Command("go", "vet", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Every variable that lens reads is in the README's table, and the other way
// round nothing is documented that is not read.
func TestReadmeListsEveryVariable(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "## Environment")
	table, _, _ = strings.Cut(table, "\n## ")
	var keys []string
	for _, s := range settings() {
		keys = append(keys, s.key)
		require.Contains(t, table, "`"+s.key+"`")
	}
	for line := range strings.SplitSeq(table, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for i, part := range strings.Split(strings.Split(line, "|")[1], "`") {
			if i%2 == 1 {
				require.True(t, slices.Contains(keys, part), "%s is documented and not read", part)
			}
		}
	}
}
