//go:build unix && !lens_noop

package lens

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// blocks returns the fenced blocks of one language.
func blocks(text, language string) (out []string) {
	for {
		_, rest, ok := strings.Cut(text, "```"+language+"\n")
		if !ok {
			return out
		}
		block, after, _ := strings.Cut(rest, "```")
		out, text = append(out, block), after
	}
}

func TestReadmeProgramsRun(t *testing.T) {
	programs := blocks(readme(t), "go")
	require.NotEmpty(t, programs)
	for _, program := range programs {
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
		out, err := exec.Command("go", "vet", file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		cmd := exec.Command("go", "run", file)
		cmd.Env = append(os.Environ(), "NEMO_LENS_ENABLED=1", "NEMO_LENS_EXPORTER=console", "NEMO_LENS_METRICS_ENABLED=0")
		stdout, err := cmd.Output()
		require.NoError(t, err)
		require.Contains(t, string(stdout), `"Name":"train"`)
	}
}

func TestReadmeBeginsWithTheQuickstart(t *testing.T) {
	source, err := os.ReadFile("examples/quickstart/main.go")
	require.NoError(t, err)
	_, program, _ := strings.Cut(string(source), "\npackage main\n")
	require.Equal(t, "package main\n"+program, blocks(readme(t), "go")[0])
}

// The Go blocks of a page are the files of one package.
func TestDocsCompile(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	compiled := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		dir, args := t.TempDir(), []string{"vet"}
		for i, block := range blocks(string(text), "go") {
			file := filepath.Join(dir, fmt.Sprintf("block%d.go", i))
			require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
			args = append(args, file)
		}
		if len(args) == 1 {
			continue
		}
		out, err := exec.Command("go", args...).CombinedOutput()
		require.NoError(t, err, "%s: %s", page, out)
		compiled += len(args) - 1
	}
	require.GreaterOrEqual(t, compiled, 2)
}

// What the pages call a file or a folder of the repository is one.
func TestDocsNameFilesThatExist(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	path := regexp.MustCompile("`((?:internal|examples|docs)/[a-z0-9_/]+[a-z0-9](?:\\.go)?|[a-z_]+\\.go)`")
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			require.FileExists(t, filepath.Join(filepath.Dir(page), m[1]), page)
		}
		for _, m := range path.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "doc.go" { // each folder has one
				continue
			}
			_, err := os.Stat(m[1])
			require.NoError(t, err, page)
		}
	}
}

// Every command is run as it stands, except for the one that runs this test.
func TestReadmeCommandsRun(t *testing.T) {
	text := readme(t)
	commands := strings.Split(strings.Join(blocks(text, "sh"), ""), "\n")
	for line := range strings.SplitSeq(text, "\n") {
		command, _, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "`")
		if strings.HasPrefix(line, "| `") && strings.Contains(command, "go run ") {
			commands = append(commands, command)
		}
	}
	ran := 0
	for _, command := range commands {
		command, _, _ = strings.Cut(command, "#")
		switch command = strings.TrimSpace(command); command {
		case "":
			continue
		case "make test":
			ci, err := os.ReadFile(".ci/run")
			require.NoError(t, err)
			require.Contains(t, string(ci), "\nexec make test\n")
			continue
		}
		cmd := exec.Command("sh", "-c", command)
		// Not those of the process that runs the tests.
		cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
			return strings.HasPrefix(kv, "NEMO_") || strings.HasPrefix(kv, "OTEL_") || strings.HasPrefix(kv, "MAKE")
		})
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		require.NoError(t, err, "%s: %s", command, stderr.String())
		if strings.Contains(command, "console") {
			require.Contains(t, string(stdout), `"Name":"`, command)
		}
		if command == "make demo" {
			require.Regexp(t, `(?m)^train\.forward_backward +280 `, string(stdout), "the summary")
			require.Regexp(t, `(?m)^  train\.step #1 +[0-9.]+.s .*[|│]$`, string(stdout), "the waterfall")
			require.Contains(t, string(stdout), "view --html ")
		}
		ran++
	}
	require.GreaterOrEqual(t, ran, 6)
}

// Every variable that lens reads is in the README's table, and the other way
// round nothing is documented that is not read.
func TestReadmeListsEveryVariable(t *testing.T) {
	_, table, _ := strings.Cut(readme(t), "## Environment")
	table, _, _ = strings.Cut(table, "\n## ")
	var keys []string
	for _, s := range new(Config).settings() {
		keys = append(keys, s.Key)
		require.Contains(t, table, "`"+s.Key+"`")
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
