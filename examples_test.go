package lens_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const importPath = "github.com/nemo-lens/lens"

// Whatever is exported has an example that uses it, so that nothing new comes
// without one. Only constants, and the fields of structs, may go without.
func TestEverythingExportedHasAnExample(t *testing.T) {
	fset := token.NewFileSet()
	pkg, err := checkRoot(fset)
	require.NoError(t, err)
	exported := exportedObjects(pkg)
	require.Contains(t, exported, "ManagedSpan")
	require.Contains(t, exported, "TelemetryHandle.Shutdown")

	var examples []*ast.File
	for _, file := range parseDir(t, fset, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		if file.Name.Name == pkg.Name()+"_test" {
			examples = append(examples, file)
		}
	}
	shown := usedInExamples(fset, pkg, examples)
	for name := range exported {
		if !shown[name] {
			t.Errorf("no Example shows lens.%s: add one to an example_<topic>_test.go", name)
		}
	}
}

// The test above has to be able to fail.
func TestAMissingExampleIsNoticed(t *testing.T) {
	fset := token.NewFileSet()
	pkg, err := checkRoot(fset)
	require.NoError(t, err)
	file, err := parser.ParseFile(fset, "fictitious_test.go", `package lens_test

import "github.com/nemo-lens/lens"

func helper() { lens.NewGroupSet() }

func ExampleTelemetryHandle_RunID() {
	cfg := lens.DefaultConfig()
	print(cfg.String())
	// a comment does not show lens.SpanCM
	print("nor does a text show lens.SpanCM")
	// Output: x
}
`, parser.ParseComments)
	require.NoError(t, err)
	shown := usedInExamples(fset, pkg, []*ast.File{file})
	require.True(t, shown["DefaultConfig"])
	require.True(t, shown["Config.String"])
	require.True(t, shown["TelemetryHandle.RunID"], "by its name")
	require.False(t, shown["GroupSet.String"], "the method of another type")
	require.False(t, shown["NewGroupSet"], "used by a function that is no example")
	require.False(t, shown["SpanCM"])
}

// checkRoot type-checks the package without its imports: their types are
// unknown then, but what the package itself declares is not.
func checkRoot(fset *token.FileSet) (*types.Package, error) {
	full := build.Default
	full.BuildTags = nil
	dir, err := full.ImportDir(".", 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range dir.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return check(fset, importPath, files, nil, nil)
}

// check ignores errors: everything from other packages is one. Only a package
// that is not there at all is returned as an error.
func check(fset *token.FileSet, path string, files []*ast.File, root *types.Package, info *types.Info) (*types.Package, error) {
	cfg := types.Config{
		Importer: onlyRoot{root},
		Error:    func(error) {},
	}
	pkg, _ := cfg.Check(path, fset, files, info)
	if pkg == nil {
		return nil, fmt.Errorf("%s cannot be checked", path)
	}
	return pkg, nil
}

type onlyRoot struct{ root *types.Package }

func (o onlyRoot) Import(path string) (*types.Package, error) {
	if o.root != nil && path == importPath {
		return o.root, nil
	}
	return nil, errors.New("left out")
}

// exportedObjects returns the exported names of the package: "F", "T" and
// "T.Method".
func exportedObjects(pkg *types.Package) map[string]bool {
	found := make(map[string]bool)
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if _, constant := obj.(*types.Const); constant || !obj.Exported() {
			continue
		}
		found[name] = true
		if t, ok := obj.(*types.TypeName); ok {
			if named, ok := t.Type().(*types.Named); ok {
				for m := range named.Methods() {
					if m.Exported() {
						found[name+"."+m.Name()] = true
					}
				}
			}
		}
	}
	return found
}

// usedInExamples returns what the bodies of the Example functions use, and what
// their names say that they are about.
func usedInExamples(fset *token.FileSet, pkg *types.Package, files []*ast.File) map[string]bool {
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	_, _ = check(fset, importPath+"_test", files, pkg, info)
	shown := make(map[string]bool)
	for _, example := range doc.Examples(files...) {
		// "T_M_suffix" is about T.M and T; a suffix alone names nothing.
		parts := strings.Split(example.Name, "_")
		shown[parts[0]] = true
		if len(parts) > 1 {
			shown[parts[0]+"."+parts[1]] = true
		}
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !isExample(fn.Name.Name) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if obj := info.Uses[id]; obj != nil && obj.Pkg() == pkg {
						shown[qualified(obj)] = true
					}
				}
				return true
			})
		}
	}
	return shown
}

func isExample(name string) bool {
	rest, ok := strings.CutPrefix(name, "Example")
	return ok && (rest == "" || !('a' <= rest[0] && rest[0] <= 'z'))
}

// qualified is "Type.Method" for a method, else the name.
func qualified(obj types.Object) string {
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return obj.Name()
	}
	recv := fn.Signature().Recv().Type()
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	if named, ok := recv.(*types.Named); ok {
		return named.Obj().Name() + "." + obj.Name()
	}
	return obj.Name()
}

// parseDir parses files of this directory for all builds.
func parseDir(t *testing.T, fset *token.FileSet, want func(name string) bool) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range slices.DeleteFunc(names, func(n string) bool { return !want(n) }) {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
