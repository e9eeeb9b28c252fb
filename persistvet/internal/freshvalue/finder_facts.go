// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// exportFacts marks the functions with a fresh result, and repeats that until the
// callers of marked functions are marked as well.
func (f *finder) exportFacts() {
	for changed := true; changed; {
		changed = false
		for c := range f.root.Preorder((*ast.FuncDecl)(nil)) {
			fn, _ := f.pass.TypesInfo.Defs[c.Node().(*ast.FuncDecl).Name].(*types.Func)
			if fn != nil && !f.isMarked(fn) && f.mark(fn, c) {
				changed = true
			}
		}
	}
}

func (f *finder) isMarked(fn *types.Func) bool { return f.pass.ImportObjectFact(fn, new(fresh)) }

// mark exports the fact of a function that returns a fresh value. A function that takes
// a transaction that writes is none: the value is reported in it.
func (f *finder) mark(fn *types.Func, c inspector.Cursor) bool {
	if api.TakesWriting(fn) {
		return false
	}
	for inner := range c.Preorder((*ast.ReturnStmt)(nil), (*ast.CallExpr)(nil)) {
		if what := f.yields(c, inner); what != "" {
			f.pass.ExportObjectFact(fn, &fresh{What: what})
			return true
		}
	}
	return false
}

// yields says what fresh value a return statement of the function returns, or what
// id generated code gives to a record.
func (f *finder) yields(fn, c inspector.Cursor) string {
	if isNested(fn, c) {
		return ""
	}
	if call, ok := c.Node().(*ast.CallExpr); ok {
		return f.assignsID(call)
	}
	for _, result := range c.Node().(*ast.ReturnStmt).Results {
		if what := f.value(fn, result); what != "" {
			return what
		}
	}
	return ""
}

// isNested reports whether c is in a function literal within the function.
func isNested(fn, c inspector.Cursor) bool {
	for above := range c.Enclosing((*ast.FuncLit)(nil)) {
		return fn.Contains(above)
	}
	return false
}

// assignsID says what a call of generated code takes: persistimpl.SetID and TryNew
// give an id to the record that the function returns.
func (f *finder) assignsID(call *ast.CallExpr) string {
	if api.Setters.Has(api.Callee(f.pass.TypesInfo, call)) {
		return f.source(call)
	}
	return ""
}

// value says what fresh value an expression is: a call, a variable that the function has
// assigned one to, or a literal with one.
func (f *finder) value(fn inspector.Cursor, e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		if what := f.source(e); what != "" {
			return plain(what)
		}
		return f.passes(fn, e)
	case *ast.Ident:
		if v := expr.Value(f.pass.TypesInfo, fn.Node(), e); v != nil && ast.Unparen(v) != e {
			return f.value(fn, v)
		}
	case *ast.UnaryExpr:
		return f.value(fn, e.X)
	case *ast.CompositeLit:
		return f.element(fn, e)
	}
	return ""
}

// passes says what fresh value a call makes of a fresh value: a method of it, a
// conversion, or a function such as idgen.Must.
func (f *finder) passes(fn inspector.Cursor, call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && f.pass.TypesInfo.Selections[sel] != nil {
		if comparisons[sel.Sel.Name] {
			return ""
		}
		if f.isForeign(sel) {
			return f.value(fn, sel.X)
		}
		return ""
	}
	if isConversion := f.pass.TypesInfo.Types[call.Fun].IsType(); !isConversion && calledName(call) != "Must" || len(call.Args) != 1 {
		return ""
	}
	return f.value(fn, call.Args[0])
}

// isForeign reports whether a method is one of a time or an id, and its result reveals it.
func (f *finder) isForeign(sel *ast.SelectorExpr) bool {
	obj := f.pass.TypesInfo.Uses[sel.Sel]
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	_, known := foreign[obj.Pkg().Path()]
	return known || obj.Pkg().Path() == api.IDGen
}

// element says what fresh value a member of a literal is.
func (f *finder) element(fn inspector.Cursor, lit *ast.CompositeLit) string {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if what := f.value(fn, e); what != "" {
			return what
		}
	}
	return ""
}

// plain leaves out of what a call takes through which function.
func plain(what string) string {
	what, _, _ = strings.Cut(what, " through ")
	return what
}

// comparisons are the methods with a result that does not reveal the time itself.
var comparisons = map[string]bool{"Sub": true, "Before": true, "After": true, "Equal": true, "Compare": true, "IsZero": true}

// consumers are functions that take a time and store it nowhere.
var consumers = map[string]bool{
	"time.Since": true, "time.Until": true, "context.WithDeadline": true, "context.WithDeadlineCause": true,
	"Time.Sub": true, "Time.Before": true, "Time.After": true, "Time.Equal": true, "Time.Compare": true,
}

// isHarmless reports whether the value at c reaches no data: it is compared, or it
// measures how long something takes.
func (f *finder) isHarmless(c inspector.Cursor) bool {
	kind, _ := c.ParentEdge()
	above := c.Parent()
	switch n := above.Node().(type) {
	case *ast.ParenExpr:
		return f.isHarmless(above)
	case *ast.BinaryExpr:
		return isComparison(n.Op) || f.isHarmless(above)
	case *ast.SelectorExpr:
		return comparisons[n.Sel.Name] || isMethodCall(above) && f.isHarmless(above.Parent())
	case *ast.CallExpr:
		return kind == edge.CallExpr_Args && f.isConsumer(above, n)
	case *ast.AssignStmt:
		return kind == edge.AssignStmt_Rhs && len(n.Lhs) == len(n.Rhs) && f.isStopwatch(n.Lhs[c.ParentEdgeIndex()])
	case *ast.ValueSpec:
		return kind == edge.ValueSpec_Values && len(n.Names) == len(n.Values) && f.isStopwatch(n.Names[c.ParentEdgeIndex()])
	}
	return false
}

func isComparison(op token.Token) bool {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return true
	}
	return false
}

func isMethodCall(c inspector.Cursor) bool {
	kind, _ := c.ParentEdge()
	return kind == edge.CallExpr_Fun
}

// isConsumer reports whether a call stores no value that it gets: it compares times or
// writes a log, or a deferred call measures by it.
func (f *finder) isConsumer(c inspector.Cursor, call *ast.CallExpr) bool {
	if kind, _ := c.ParentEdge(); kind == edge.DeferStmt_Call {
		return true
	}
	fn := api.Callee(f.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "log", "log/slog", "testing":
		return true
	case "time":
		return consumers[api.FullName(fn)] || consumers[f.name(fn)]
	}
	return consumers[f.name(fn)]
}

// isStopwatch reports whether every use of a local variable is harmless.
func (f *finder) isStopwatch(lhs ast.Expr) bool {
	id, ok := lhs.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := f.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() == v.Pkg().Scope() {
		return false
	}
	if harmless, known := f.stopwatches[v]; known {
		return harmless
	}
	f.stopwatches[v] = true // for uses in its own assignments
	f.stopwatches[v] = f.isOnlyMeasured(v)
	return f.stopwatches[v]
}

func (f *finder) isOnlyMeasured(v *types.Var) bool {
	uses := 0
	for c := range f.root.Preorder((*ast.Ident)(nil)) {
		if f.pass.TypesInfo.Uses[c.Node().(*ast.Ident)] != v || isAssigned(c) {
			continue
		}
		if uses++; !f.isHarmless(c) {
			return false
		}
	}
	return uses > 0
}

// isAssigned reports whether the variable at c gets a value there.
func isAssigned(c inspector.Cursor) bool {
	kind, _ := c.ParentEdge()
	return kind == edge.AssignStmt_Lhs
}

// calledName returns the name of a called function, without package and type arguments.
func calledName(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}
