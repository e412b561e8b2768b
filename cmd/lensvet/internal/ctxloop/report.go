package ctxloop

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
)

// report reports an assignment, unless what it makes has an end.
func (a *analysisOfPackage) report(at ast.Node, target place) {
	assign, ok := at.(*ast.AssignStmt)
	if !ok || a.reported[at] {
		return
	}
	path := a.enclosing(assign)
	loop := innermostLoop(path)
	if a.happensOnce(assign, path, loop) || a.collects(assign, target, loop) {
		return
	}
	a.reported[at] = true
	i := slices.IndexFunc(assign.Lhs, func(e ast.Expr) bool {
		p, ok := a.placeOf(e)
		return ok && p == target
	})
	if i < 0 {
		return
	}
	a.pass.Report(analysis.Diagnostic{
		Pos: assign.Pos(), End: assign.End(),
		Message: fmt.Sprintf("%s is from outside the loop, so each iteration makes it from that of the one before and the chain of contexts is never freed; %s",
			types.ExprString(assign.Lhs[i]), remedy(assign, i)),
	})
}

// remedy writes the assignment as it should be.
func remedy(assign *ast.AssignStmt, i int) string {
	names := ""
	plain := true // every left side can be declared
	for j, lhs := range assign.Lhs {
		if j > 0 {
			names += ", "
		}
		id, ok := lhs.(*ast.Ident)
		switch {
		case ok:
			names += id.Name
		case j == i:
			names += "ctx"
		default:
			plain = false
		}
	}
	from := "…"
	if len(assign.Rhs) == 1 {
		if call, ok := ast.Unparen(assign.Rhs[0]).(*ast.CallExpr); ok {
			from = types.ExprString(call.Fun) + "(…)"
		}
	}
	if !plain || from == "…" {
		return "use a variable that is declared in the loop's body"
	}
	return fmt.Sprintf("declare it in the body: %s := %s", names, from)
}

func (a *analysisOfPackage) enclosing(n ast.Node) []ast.Node {
	for _, file := range a.pass.Files {
		if file.FileStart <= n.Pos() && n.Pos() < file.FileEnd {
			path, _ := astutil.PathEnclosingInterval(file, n.Pos(), n.End())
			return path
		}
	}
	return nil
}

// innermostLoop is nil for a loop that goto makes.
func innermostLoop(path []ast.Node) ast.Stmt {
	for _, n := range path {
		switch n := n.(type) {
		case *ast.ForStmt:
			return n
		case *ast.RangeStmt:
			return n
		}
	}
	return nil
}

// happensOnce reports whether a condition that the same branch makes false
// guards the assignment, as in
//
//	if span == nil { ctx, span = … }
//	if first { ctx, span = …; first = false }
func (a *analysisOfPackage) happensOnce(assign *ast.AssignStmt, path []ast.Node, loop ast.Stmt) bool {
	for i, n := range path {
		if n == loop && loop != nil {
			return false
		}
		branch, ok := n.(*ast.IfStmt)
		if !ok || i == 0 || path[i-1] != ast.Node(branch.Body) {
			continue
		}
		inside, outside := a.assignedIn(branch.Body), make(map[place]bool)
		if loop != nil {
			outside = a.assignedOutside(loop, branch.Body)
		}
		once := false
		ast.Inspect(branch.Cond, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if p, ok := a.placeOf(e); ok && inside[p] && !outside[p] {
					once = true
				}
			}
			return !once
		})
		if once {
			return true
		}
	}
	return false
}

func (a *analysisOfPackage) assignedIn(n ast.Node) map[place]bool {
	return a.assignedOutside(n, nil)
}

// assignedOutside returns what is assigned in n, but not in except.
func (a *analysisOfPackage) assignedOutside(n, except ast.Node) map[place]bool {
	set := make(map[place]bool)
	add := func(e ast.Expr) {
		if p, ok := a.placeOf(e); ok {
			set[p] = true
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if except != nil && n == except {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				add(lhs)
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND { // whoever has the address may assign
				add(n.X)
			}
		case *ast.RangeStmt:
			if n.Key != nil {
				add(n.Key)
			}
			if n.Value != nil {
				add(n.Value)
			}
		}
		return true
	})
	return set
}

// collects reports whether a loop that has an end puts several values into one
// context, to be used when all of them are there:
//
//	for key, value := range values { ctx = context.WithValue(ctx, key, value) }
//
// The context is used for nothing else in the loop, and comes alone, without a
// span or a function to cancel it.
func (a *analysisOfPackage) collects(assign *ast.AssignStmt, target place, loop ast.Stmt) bool {
	if len(assign.Lhs) != 1 || !a.ends(loop) {
		return false
	}
	used := false
	ast.Inspect(loop, func(n ast.Node) bool {
		if n == ast.Node(assign) {
			return false
		}
		if e, ok := n.(ast.Expr); ok {
			if p, ok := a.placeOf(e); ok && p == target {
				used = true
			}
		}
		return !used
	})
	return !used
}

// ends reports whether the head of the loop bounds it.
func (a *analysisOfPackage) ends(loop ast.Stmt) bool {
	switch loop := loop.(type) {
	case *ast.ForStmt:
		return loop.Cond != nil
	case *ast.RangeStmt:
		t := a.pass.TypesInfo.TypeOf(loop.X)
		if t == nil {
			return false
		}
		switch t.Underlying().(type) {
		case *types.Chan, *types.Signature: // as long as there is something
			return false
		}
		return true
	}
	return false
}
