package lenshttp_test

import (
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

// api returns the exported functions and types of the package in one build.
func api(t *testing.T, tags ...string) (decls []string, imports []string) {
	t.Helper()
	ctx := build.Default
	ctx.BuildTags = tags
	pkg, err := ctx.ImportDir(".", 0)
	require.NoError(t, err)
	fset := token.NewFileSet()
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		ast.FileExports(file)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				if f.Recv != nil {
					receiver := f.Recv.List[0].Type
					if star, ok := receiver.(*ast.StarExpr); ok {
						receiver = star.X
					}
					if !ast.IsExported(receiver.(*ast.Ident).Name) {
						continue
					}
				}
				f.Body = nil
				for _, p := range f.Type.Params.List {
					for _, n := range p.Names {
						n.Name = "_"
					}
				}
			}
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			var b strings.Builder
			require.NoError(t, printer.Fprint(&b, fset, decl))
			decls = append(decls, b.String())
		}
	}
	slices.Sort(decls)
	return decls, pkg.Imports
}

func TestNoopBuildHasTheSameAPI(t *testing.T) {
	t.Parallel()
	full, imports := api(t)
	require.Contains(t, full, "func NewHandler(_ http.Handler, _ lens.SpanGroup, _ ...Option) http.Handler")
	require.Contains(t, strings.Join(imports, " "), "otelhttp")
	noop, imports := api(t, "lens_noop")
	require.Equal(t, full, noop)
	for _, path := range imports {
		require.NotContains(t, path, "/contrib/")
		require.NotContains(t, path, "/sdk")
		require.NotContains(t, path, "/exporters")
	}
}
