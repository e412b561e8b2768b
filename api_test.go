package lens

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exportedAPI returns the exported declarations of the package in one build,
// without bodies, comments and unexported fields.
func exportedAPI(t *testing.T, tags ...string) []string {
	t.Helper()
	ctx := build.Default
	ctx.BuildTags = tags
	pkg, err := ctx.ImportDir(".", 0)
	require.NoError(t, err)
	fset := token.NewFileSet()
	var api []string
	show := func(node any) string {
		var b bytes.Buffer
		require.NoError(t, printer.Fprint(&b, fset, node))
		return b.String()
	}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				receiver := ""
				if d.Recv != nil {
					receiver = show(d.Recv.List[0].Type) + "."
				}
				if d.Name.IsExported() && (receiver == "" || ast.IsExported(strings.TrimLeft(receiver, "*"))) {
					api = append(api, "func "+receiver+d.Name.Name+typesOnly(show, d.Type))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							api = append(api, "type "+s.Name.Name)
							if st, ok := s.Type.(*ast.StructType); ok {
								for _, f := range st.Fields.List {
									for _, n := range f.Names {
										if n.IsExported() {
											api = append(api, "field "+s.Name.Name+"."+n.Name+" "+show(f.Type))
										}
									}
								}
							}
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								api = append(api, d.Tok.String()+" "+n.Name)
							}
						}
					}
				}
			}
		}
	}
	slices.Sort(api)
	return api
}

// typesOnly prints a signature without the names of its parameters.
func typesOnly(show func(any) string, f *ast.FuncType) string {
	list := func(fields *ast.FieldList) string {
		var types []string
		if fields != nil {
			for _, f := range fields.List {
				for range max(1, len(f.Names)) {
					types = append(types, show(f.Type))
				}
			}
		}
		return "(" + strings.Join(types, ", ") + ")"
	}
	return list(f.TypeParams) + list(f.Params) + list(f.Results)
}

func TestNoopBuildHasTheSameAPI(t *testing.T) {
	full := exportedAPI(t)
	require.Contains(t, full, "type TelemetryHandle")
	// An http.Handler takes net/http, 3.4 MB, which that build must not have;
	// lenshttp.ControlHandler, which the two builds have, stands in for it.
	full = slices.DeleteFunc(full, func(name string) bool { return strings.HasPrefix(name, "func ControlHandler(") })
	require.Equal(t, full, exportedAPI(t, "lens_noop"))
}
