// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// comparisons are the methods whose result does not tell the time itself.
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
