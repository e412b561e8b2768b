package semconv_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nemo-lens/lens/semconv"
)

type vectors struct {
	Base struct {
		Version string `json:"semconv_version"`
		Names   map[string]string
	} `json:"semconv_v020"`
	Nightly struct{ Names map[string]string } `json:"semconv_nightly"`
	Diff    struct {
		Removed []string
		Renamed map[string]string
	} `json:"semconv_diff_v020_to_nightly"`
}

func load(t *testing.T) (v vectors) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// constant is one exported key as its source declares it.
type constant struct{ ident, key, doc, file string }

// parse reads the declarations, so that no constant can be forgotten in a list
// kept by hand.
func parse(t *testing.T) (out []constant) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			call, ok := spec.Values[0].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s: the value of %s is no literal", name, spec.Names[0])
			}
			key, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, constant{spec.Names[0].Name, key, spec.Doc.Text(), name})
			return true
		})
	}
	if len(out) < 100 {
		t.Fatalf("found %d constants", len(out))
	}
	return out
}

func TestEveryNameOfTheReferenceIsAConstant(t *testing.T) {
	t.Parallel()
	v := load(t)
	if len(v.Base.Names) != 58 || len(v.Nightly.Names) != 99 {
		t.Fatalf("%d and %d names in the vectors, want 58 and 99", len(v.Base.Names), len(v.Nightly.Names))
	}
	byKey := map[string]string{}
	for _, c := range parse(t) {
		if other, ok := byKey[c.key]; ok {
			t.Errorf("%s and %s are both %q", other, c.ident, c.key)
		}
		byKey[c.key] = c.ident
	}
	for _, names := range []map[string]string{v.Base.Names, v.Nightly.Names} {
		for constant, key := range names {
			ident, ok := byKey[key]
			if !ok {
				t.Errorf("no constant for %q", key)
				continue
			}
			// Apart from case and the underscores the two names are the same.
			if want := strings.ReplaceAll(constant, "_", "") + "KEY"; strings.ToUpper(ident) != want {
				t.Errorf("%q is %s here and %s in the reference", key, ident, constant)
			}
		}
	}
}

func TestEveryConstantIsDocumented(t *testing.T) {
	t.Parallel()
	v := load(t)
	types := regexp.MustCompile(`(?m)^Type: (string|int|double|boolean)(, int in the nightly)?$`)
	for _, c := range parse(t) {
		if !strings.HasPrefix(strings.Join(strings.Fields(c.doc), " "), c.ident+" is \""+c.key+"\"") {
			t.Errorf("%s: the comment does not start with the name and the key", c.ident)
		}
		if !types.MatchString(c.doc) || !strings.Contains(c.doc, "\nStability: ") || !strings.Contains(c.doc, "\nSource: ") {
			t.Errorf("%s: type, stability or source missing:\n%s", c.ident, c.doc)
		}
		_, inBase := nameOf(v.Base.Names, c.key)
		_, inNightly := nameOf(v.Nightly.Names, c.key)
		source := c.doc[strings.Index(c.doc, "Source:"):]
		switch {
		case inBase && inNightly && !strings.Contains(source, "all versions") && !strings.Contains(source, "retired"),
			inBase && !inNightly && !strings.Contains(source, "v0.2.0"),
			inNightly && !inBase && !strings.Contains(source, "nightly"):
			t.Errorf("%s: wrong source (base %t, nightly %t): %s", c.ident, inBase, inNightly, source)
		}
	}
}

func nameOf(names map[string]string, key string) (string, bool) {
	for name, k := range names {
		if k == key {
			return name, true
		}
	}
	return "", false
}

func TestRenamedMatchesReference(t *testing.T) {
	t.Parallel()
	v := load(t)
	got := semconv.Renamed()
	if len(got) != len(v.Diff.Renamed) {
		t.Errorf("%d renamed names, want %d", len(got), len(v.Diff.Renamed))
	}
	for from, to := range got {
		if v.Diff.Renamed[string(from)] != string(to) {
			t.Errorf("%s becomes %s, want %s", from, to, v.Diff.Renamed[string(from)])
		}
	}
	if semconv.Version != v.Base.Version {
		t.Errorf("version %s, want %s", semconv.Version, v.Base.Version)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range v.Diff.Removed {
		if !strings.Contains(string(doc), name) {
			t.Errorf("the package documentation does not say what became of %s", name)
		}
	}
	semconv.Renamed()[semconv.DLRankKey] = "changed"
	if semconv.Renamed()[semconv.DLRankKey] != semconv.NVDLRankKey {
		t.Error("a caller can change the table")
	}
}

// A file holds one prefix, or says in its name which ones.
func TestFilesGroupByPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range parse(t) {
		prefix, _, _ := strings.Cut(c.key, ".")
		stem := strings.TrimSuffix(c.file, ".go")
		allowed := map[string][]string{
			"genai": {"gen_ai"}, "nv_dl": {"nv"}, "nv_gpu": {"nv"}, "nemo": {"nemo", "wandb"}, "nemo_gym": {"nemo"},
			"resource": {"service", "telemetry", "deployment", "host", "process"},
		}[stem]
		if allowed == nil {
			allowed = []string{stem}
		}
		if !slices.Contains(allowed, prefix) {
			t.Errorf("%s (%s) is in %s", c.ident, c.key, c.file)
		}
	}
}
