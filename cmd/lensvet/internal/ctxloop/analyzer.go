// Package ctxloop finds loops that make a chain of contexts without end.
//
//	for {
//		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step") // "=" where ":=" was meant
//		…
//		lens.End(span, nil)
//	}
//
// Where ctx is declared outside the loop, every context holds the one before:
// no span of the run is ever freed, every look-up of a value walks the whole
// chain, and each span is the child of the one before instead of a sibling.
//
// [Analyzer] follows contexts through the control flow, so that what the loop
// cannot carry into its next iteration is not reported: a variable of the
// body's own, one that is restored or reset before the next derivation, and a
// loop that is left after it.
package ctxloop

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"
)

const doc = `find loops that make a chain of contexts without end

A context that is made from another one keeps it. A loop that assigns the new
one to the variable from which it makes the next, such as

	for {
		ctx, span = lens.ManagedSpan(ctx, lens.Step, "step")
		...
	}

with a ctx from outside the loop, therefore frees nothing until it ends, and
makes every span the child of the one before. Declare the new context in the
body instead: ctx, span := lens.ManagedSpan(ctx, lens.Step, "step").

Contexts are made by package context, by lens, by the Start of a tracer, and by
any function, of this or another package, that returns one of these made from
its own parameter.`

// Analyzer reports the assignments that make such a chain.
var Analyzer = &analysis.Analyzer{
	Name:      "ctxloop",
	Doc:       doc,
	URL:       "https://pkg.go.dev/github.com/nemo-lens/lens/cmd/lensvet",
	Requires:  []*analysis.Analyzer{inspect.Analyzer, ctrlflow.Analyzer},
	FactTypes: []analysis.Fact{new(derives)},
	Run:       run,
}

func run(pass *analysis.Pass) (any, error) {
	a := &analysisOfPackage{
		pass:     pass,
		graphs:   pass.ResultOf[ctrlflow.Analyzer].(*ctrlflow.CFGs),
		reported: make(map[ast.Node]bool),
	}
	in := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	a.findDerivingFunctions(in)
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)}, func(n ast.Node) {
		switch fn := n.(type) {
		case *ast.FuncDecl:
			if fn.Body != nil {
				a.checkLoops(fn.Body, a.graphs.FuncDecl(fn))
			}
		case *ast.FuncLit:
			a.checkLoops(fn.Body, a.graphs.FuncLit(fn))
		}
	})
	return nil, nil
}

type analysisOfPackage struct {
	pass     *analysis.Pass
	graphs   *ctrlflow.CFGs
	reported map[ast.Node]bool
}

// checkLoops looks at the loops of one function, one variable at a time.
func (a *analysisOfPackage) checkLoops(body *ast.BlockStmt, graph *cfg.CFG) {
	targets := a.assigned(body)
	if len(targets) == 0 || graph == nil {
		return
	}
	for _, block := range graph.Blocks {
		if !block.Live {
			continue
		}
		switch block.Kind {
		case cfg.KindForBody, cfg.KindRangeBody, cfg.KindLabel:
		default:
			continue
		}
		for _, target := range targets {
			f := a.newFlow(target)
			for _, at := range f.sitesOf(f.around(block)) {
				a.report(at, target)
			}
		}
	}
}

// assigned returns the variables that a plain assignment somewhere in the body
// gives a context. ":=" declares another variable in every iteration; a range
// or a case may declare one, too, but they never take it from itself.
func (a *analysisOfPackage) assigned(body *ast.BlockStmt) []place {
	var places []place
	seen := make(map[place]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, lhs := range assign.Lhs {
			if id, ok := lhs.(*ast.Ident); ok && a.pass.TypesInfo.Defs[id] != nil {
				continue // declared here
			}
			p, ok := a.placeOf(lhs)
			if ok && !seen[p] && carriesContext(a.pass.TypesInfo.TypeOf(lhs)) {
				seen[p] = true
				places = append(places, p)
			}
		}
		return true
	})
	return places
}

// place is a variable, or a field of one: what a context can be kept in from
// one iteration to the next.
type place struct {
	root types.Object
	path string // ".a.b" for a field
}

func (a *analysisOfPackage) placeOf(e ast.Expr) (place, bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		obj := a.pass.TypesInfo.ObjectOf(e)
		if _, ok := obj.(*types.Var); ok {
			return place{root: obj}, true
		}
	case *ast.StarExpr:
		return a.placeOf(e.X)
	case *ast.SelectorExpr:
		if sel := a.pass.TypesInfo.Selections[e]; sel == nil {
			if obj, ok := a.pass.TypesInfo.Uses[e.Sel].(*types.Var); ok { // of another package
				return place{root: obj}, true
			}
			return place{}, false
		}
		if p, ok := a.placeOf(e.X); ok {
			return place{root: p.root, path: p.path + "." + e.Sel.Name}, true
		}
	}
	return place{}, false
}
