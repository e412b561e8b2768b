package ctxloop

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"strings"

	"golang.org/x/tools/go/cfg"
)

// origin says, as a set, what a context may be by way of the different paths to
// one point of the program.
type origin uint64

const (
	same  origin = 1 << iota // what the variable held at the start
	other                    // something from elsewhere
	made                     // made from what it held, and not yet assigned to it
	site                     // the first of the assignments that gave it such a context
)

// maxSites is how many assignments an origin can tell apart; later ones count
// as the last.
const maxSites = 61

// flow follows the values of one variable, and copies of them, through a
// function.
type flow struct {
	*analysisOfPackage
	start place
	sites []ast.Node
}

func (a *analysisOfPackage) newFlow(p place) *flow {
	return &flow{analysisOfPackage: a, start: p}
}

func (f *flow) entry(p place) map[place]origin { return map[place]origin{p: same} }

// around follows the variable once around the loop, from the beginning of its
// body back to it, and returns what it may hold then.
func (f *flow) around(head *cfg.Block) (back origin) {
	before := map[*cfg.Block]map[place]origin{head: f.entry(f.start)}
	f.run(before, head, func(to *cfg.Block, state map[place]origin) bool {
		if to == head {
			back |= get(state, f.start)
			return false
		}
		return true
	})
	return back
}

// through follows state from the beginning of a function to all its blocks.
func (f *flow) through(graph *cfg.CFG, state map[place]origin) map[*cfg.Block]map[place]origin {
	before := map[*cfg.Block]map[place]origin{graph.Blocks[0]: state}
	f.run(before, graph.Blocks[0], func(*cfg.Block, map[place]origin) bool { return true })
	return before
}

// run goes on until nothing changes. enter is asked at every edge whether to
// follow it.
func (f *flow) run(before map[*cfg.Block]map[place]origin, from *cfg.Block, enter func(*cfg.Block, map[place]origin) bool) {
	for work := []*cfg.Block{from}; len(work) > 0; {
		block := work[len(work)-1]
		work = work[:len(work)-1]
		after := f.block(block, maps.Clone(before[block]))
		for _, next := range block.Succs {
			if !enter(next, after) {
				continue
			}
			joined, changed := join(before[next], after)
			if changed {
				before[next] = joined
				work = append(work, next)
			}
		}
	}
}

// join unites two states; nil is one that was not reached before. A place that
// a state does not have holds something from elsewhere.
func join(old, more map[place]origin) (united map[place]origin, changed bool) {
	if old == nil {
		return maps.Clone(more), true
	}
	united = maps.Clone(old)
	for p := range more {
		united[p] = get(old, p) | get(more, p)
	}
	for p := range old {
		united[p] = get(old, p) | get(more, p)
	}
	for p, o := range united {
		changed = changed || o != get(old, p)
	}
	return united, changed
}

func get(state map[place]origin, p place) origin {
	if o, ok := state[p]; ok {
		return o
	}
	return other
}

// block changes state as the block does.
func (f *flow) block(block *cfg.Block, state map[place]origin) map[place]origin {
	if r, ok := block.Stmt.(*ast.RangeStmt); ok && block.Kind == cfg.KindRangeBody {
		f.set(r.Key, other, state, nil)
		f.set(r.Value, other, state, nil)
	}
	for _, n := range block.Nodes {
		state = f.node(n, state)
	}
	return state
}

func (f *flow) node(n ast.Node, state map[place]origin) map[place]origin {
	state = f.literals(n, state)
	switch n := n.(type) {
	case *ast.AssignStmt:
		values := make([]origin, len(n.Lhs))
		for i := range n.Lhs {
			values[i] = other
			switch {
			case n.Tok != token.ASSIGN && n.Tok != token.DEFINE: // +=
			case len(n.Rhs) == len(n.Lhs):
				values[i] = f.eval(n.Rhs[i], state)
			case carriesContext(f.pass.TypesInfo.TypeOf(n.Lhs[i])):
				values[i] = f.eval(n.Rhs[0], state)
			}
		}
		for i, lhs := range n.Lhs {
			f.set(lhs, values[i], state, n)
		}
	case *ast.ValueSpec:
		for i, name := range n.Names {
			value := other
			switch {
			case len(n.Values) == len(n.Names):
				value = f.eval(n.Values[i], state)
			case len(n.Values) == 1 && carriesContext(f.pass.TypesInfo.TypeOf(name)):
				value = f.eval(n.Values[0], state)
			}
			f.set(name, value, state, n)
		}
	}
	return state
}

// set gives the place a value; a new value for a variable is one for its fields
// as well.
func (f *flow) set(lhs ast.Expr, value origin, state map[place]origin, at ast.Node) {
	if lhs == nil {
		return
	}
	p, ok := f.placeOf(lhs)
	if !ok {
		return
	}
	for field := range state {
		if field.root == p.root && strings.HasPrefix(field.path, p.path+".") {
			state[field] = other
		}
	}
	if p == f.start && value&made != 0 && at != nil {
		value = value&^made | f.siteOf(at)
	}
	state[p] = value
}

func (f *flow) siteOf(at ast.Node) origin {
	for i, n := range f.sites {
		if n == at {
			return site << min(i, maxSites-1)
		}
	}
	f.sites = append(f.sites, at)
	return site << min(len(f.sites)-1, maxSites-1)
}

// sitesOf returns the assignments that are in the origin.
func (f *flow) sitesOf(o origin) (at []ast.Node) {
	for i, n := range f.sites {
		if o&(site<<min(i, maxSites-1)) != 0 {
			at = append(at, n)
		}
	}
	return at
}

// eval says where the context of an expression comes from.
func (f *flow) eval(e ast.Expr, state map[place]origin) origin {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		args, grows := f.derivedFrom(e)
		if len(args) == 0 {
			return other
		}
		var from origin
		for _, arg := range args {
			from |= f.eval(arg, state)
		}
		if grows && from&^other != 0 {
			from = from&^same | made
		}
		return from
	case *ast.TypeAssertExpr:
		return f.eval(e.X, state)
	case *ast.StarExpr, *ast.Ident, *ast.SelectorExpr:
		if p, ok := f.placeOf(e); ok {
			return get(state, p)
		}
	}
	return other
}

// literals runs the function literals of a node: one that is called on the spot
// changes state as its body does, and one that is handed to somebody may.
func (f *flow) literals(n ast.Node, state map[place]origin) map[place]origin {
	_, deferred := n.(*ast.DeferStmt)
	_, concurrent := n.(*ast.GoStmt)
	calls := make(map[*ast.FuncLit]*ast.CallExpr)
	ast.Inspect(n, func(inner ast.Node) bool {
		switch inner := inner.(type) {
		case *ast.CallExpr:
			if lit, ok := ast.Unparen(inner.Fun).(*ast.FuncLit); ok {
				calls[lit] = inner
			}
			if f.onlyOnce(inner) {
				return false
			}
		case *ast.FuncLit:
			if deferred {
				return false // see literal
			}
			call := calls[inner]
			after := f.literal(inner, call, maps.Clone(state))
			if call != nil && !concurrent {
				state = after
			} else {
				state, _ = join(state, after)
			}
			return false
		}
		return true
	})
	return state
}

// literal returns the state at the end of a literal, its deferred literals run.
// call is nil when it is not called on the spot.
func (f *flow) literal(lit *ast.FuncLit, call *ast.CallExpr, state map[place]origin) map[place]origin {
	graph := f.graphs.FuncLit(lit)
	if graph == nil {
		return state
	}
	var args []origin
	if call != nil {
		for _, arg := range call.Args {
			args = append(args, f.eval(arg, state))
		}
	}
	i := 0
	for _, field := range lit.Type.Params.List {
		for _, name := range field.Names {
			value := other
			if i < len(args) {
				value = args[i]
			}
			f.set(name, value, state, nil)
			i++
		}
	}
	var end map[place]origin
	for block, before := range f.through(graph, state) {
		if block.Return() != nil {
			end, _ = join(end, f.block(block, maps.Clone(before)))
		}
	}
	if end == nil { // never returns
		return state
	}
	for _, d := range deferredIn(lit) {
		end = f.literal(d, nil, end)
	}
	return end
}

// deferredIn returns the literals that the body defers, in the order in which
// they run.
func deferredIn(lit *ast.FuncLit) (lits []*ast.FuncLit) {
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			if d, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
				lits = append([]*ast.FuncLit{d}, lits...)
			}
		}
		return true
	})
	return lits
}

// onlyOnce reports whether the call is sync.Once.Do.
func (f *flow) onlyOnce(call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := f.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && fn.FullName() == "(*sync.Once).Do"
}
