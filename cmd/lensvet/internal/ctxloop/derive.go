package ctxloop

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/types/typeutil"
)

// derives is the fact that a function returns a context made from that of its
// parameter, whatever way it returns one.
type derives struct{}

func (*derives) AFact()         {}
func (*derives) String() string { return "derives" }

const lensPath = "github.com/nemo-lens/lens"

// ofLens are the functions of lens that make a context. They are listed because
// they return their own context when the group is off, which no fact says.
var ofLens = []string{"ManagedSpan", "ManagedSpanWith", "SpanCM", "LinkedSpan", "NewTaskGroup",
	"WithTracer", "WithSpanAttributes", "Detach", "ExtractContext", "DeserializeContext"}

// derivedFrom returns what the context that a call returns is made from: an
// argument that derives says adds to it, or that is passed on as it is. It is
// nil for a context from elsewhere.
func (a *analysisOfPackage) derivedFrom(call *ast.CallExpr) (args []ast.Expr, grows bool) {
	info := a.pass.TypesInfo
	if tv := info.Types[call.Fun]; tv.IsType() && len(call.Args) == 1 { // a conversion
		return call.Args, false
	}
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok {
		return nil, false
	}
	if recv := fn.Signature().Recv(); recv != nil && isRequest(recv.Type()) {
		// A request carries the context that it was given.
		switch sel, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr); {
		case fn.Name() == "Context" && sel != nil:
			return []ast.Expr{sel.X}, false
		case fn.Name() == "WithContext" || fn.Name() == "Clone":
			return call.Args, false
		}
		return nil, false
	}
	if !a.isDeriving(fn) {
		return nil, false
	}
	for _, arg := range call.Args {
		if carriesContext(info.TypeOf(arg)) {
			args = append(args, arg)
		}
	}
	return args, true
}

func (a *analysisOfPackage) isDeriving(fn *types.Func) bool {
	fn = fn.Origin()
	if fn.Pkg() == nil {
		return false
	}
	switch path, name := fn.Pkg().Path(), fn.Name(); {
	case path == "context":
		return strings.HasPrefix(name, "With")
	case path == lensPath:
		return slices.Contains(ofLens, name)
	case strings.HasPrefix(path, "go.opentelemetry.io/otel") && strings.HasPrefix(name, "ContextWith"):
		return true
	case isTracerStart(fn):
		return true
	}
	return a.pass.ImportObjectFact(fn, new(derives))
}

// isTracerStart recognises Tracer.Start by its results, so that every
// implementation is one.
func isTracerStart(fn *types.Func) bool {
	results := fn.Signature().Results()
	return fn.Name() == "Start" && results.Len() == 2 && isContext(results.At(0).Type()) &&
		isNamed(results.At(1).Type(), "go.opentelemetry.io/otel/trace", "Span")
}

// findDerivingFunctions exports the facts of this package. A function may use
// one that comes after it, so it looks again until there is nothing new.
func (a *analysisOfPackage) findDerivingFunctions(in *inspector.Inspector) {
	var candidates []*ast.FuncDecl
	in.Preorder([]ast.Node{(*ast.FuncDecl)(nil)}, func(n ast.Node) {
		fn := n.(*ast.FuncDecl)
		obj, ok := a.pass.TypesInfo.Defs[fn.Name].(*types.Func)
		if !ok || fn.Body == nil {
			return
		}
		sig := obj.Signature()
		if hasContext(sig.Params()) && hasContext(sig.Results()) {
			candidates = append(candidates, fn)
		}
	})
	for again := true; again; {
		again = false
		candidates = slices.DeleteFunc(candidates, func(fn *ast.FuncDecl) bool {
			obj := a.pass.TypesInfo.Defs[fn.Name].(*types.Func)
			if !a.returnsDerived(fn, obj.Signature(), a.graphs.FuncDecl(fn)) {
				return false
			}
			a.pass.ExportObjectFact(obj, new(derives))
			again = true
			return true
		})
	}
}

// returnsDerived reports whether some return gives a context made from that of
// a parameter, and none gives the parameter's own.
func (a *analysisOfPackage) returnsDerived(fn *ast.FuncDecl, sig *types.Signature, graph *cfg.CFG) bool {
	for param := range sig.Params().Variables() {
		if !carriesContext(param.Type()) {
			continue
		}
		f := a.newFlow(place{root: param})
		f.start = place{} // the parameter is not a place to report
		before := f.through(graph, f.entry(place{root: param}))
		var returned origin
		for _, block := range graph.Blocks {
			ret := block.Return()
			state, reached := before[block]
			if ret == nil || !reached {
				continue
			}
			state = f.block(block, state)
			returned |= f.returned(ret, sig, state)
		}
		if returned&made != 0 && returned&same == 0 {
			return true
		}
	}
	return false
}

// returned is where the context comes from that a return gives.
func (f *flow) returned(ret *ast.ReturnStmt, sig *types.Signature, state map[place]origin) (from origin) {
	for i := range sig.Results().Len() {
		result := sig.Results().At(i)
		if !carriesContext(result.Type()) {
			continue
		}
		switch {
		case len(ret.Results) == sig.Results().Len():
			from |= f.eval(ret.Results[i], state)
		case len(ret.Results) == 1: // return f()
			from |= f.eval(ret.Results[0], state)
		case result.Name() != "":
			from |= get(state, place{root: result})
		}
	}
	return from
}

func hasContext(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if carriesContext(v.Type()) {
			return true
		}
	}
	return false
}

// carriesContext reports whether a value of the type keeps a context alive that
// the analysis follows.
func carriesContext(t types.Type) bool { return isContext(t) || isRequest(t) }

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isRequest(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isNamed(p.Elem(), "net/http", "Request")
}

func isNamed(t types.Type, path, name string) bool {
	if t == nil {
		return false
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
