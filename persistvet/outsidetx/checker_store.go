// SPDX-License-Identifier: Apache-2.0

package outsidetx

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// store finds an operation of a store that is not bound to the transaction.
func (c *checker) store(at inspector.Cursor, call *ast.CallExpr) (d analysis.Diagnostic, found bool) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !api.IsStore(c.info.TypeOf(sel.X)) || !c.asks(call) || c.isCondition(at, call) || !c.isUnbound(sel.X) {
		return d, false
	}
	plain := c.withoutOptions(sel.X)
	d = diagnostic(call, types.ExprString(sel)+" uses a store that is not bound to the transaction"+consequence+
		"Bind it: "+types.ExprString(plain)+".In("+c.tx()+")")
	d.SuggestedFixes = c.bind(plain)
	return d, true
}

// withoutOptions returns the store of which an expression is a variant: orders of
// orders.AllowScan().
func (c *checker) withoutOptions(store ast.Expr) ast.Expr {
	if call, ok := ast.Unparen(store).(*ast.CallExpr); ok {
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && api.IsStore(c.info.TypeOf(sel.X)) {
			return c.withoutOptions(sel.X)
		}
	}
	return store
}

// asks reports whether a method of a store reads or writes, or makes a query.
func (c *checker) asks(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	return fn != nil && fn.Signature().Recv() != nil && fn.Name() != "In" && fn.Name() != "New" && !api.Settings.Has(fn)
}

// isCondition reports whether a call makes a query that another call gets, as DeleteWhere
// does, and which is not run by itself.
func (c *checker) isCondition(at inspector.Cursor, call *ast.CallExpr) bool {
	return at.ParentEdgeKind() == edge.CallExpr_Args && api.Queries.HasType(c.info.TypeOf(call))
}

// isUnbound reports whether a store is certainly not bound to a transaction.
func (c *checker) isUnbound(store ast.Expr) bool {
	switch e := ast.Unparen(store).(type) {
	case *ast.CallExpr:
		return c.makesUnbound(e)
	case *ast.Ident:
		return c.isUnboundVariable(e)
	case *ast.SelectorExpr:
		return c.fn.IsOuter(e)
	}
	return false
}

// makesUnbound reports whether a call returns a store that is not bound: one of a
// database.
func (c *checker) makesUnbound(call *ast.CallExpr) bool {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && api.IsStore(c.info.TypeOf(sel.X)) {
		return sel.Sel.Name == "AllowScan" && c.isUnbound(sel.X)
	}
	unbound := false
	for _, arg := range call.Args {
		t := c.info.TypeOf(arg)
		if api.IsTransaction(t) || api.IsStore(t) {
			return false
		}
		unbound = unbound || api.IsDatabase(t)
	}
	return unbound
}

// isUnboundVariable reports whether what was assigned to a variable is not bound. A
// parameter of the transaction function may be bound.
func (c *checker) isUnboundVariable(id *ast.Ident) bool {
	v := c.valueOf(id)
	if v == nil {
		return c.fn.IsOuter(id)
	}
	return ast.Unparen(v) != id && c.isUnbound(v)
}

// bind returns the fix that binds a generated store to the transaction. In of others
// returns a value, of which no method can be called directly.
func (c *checker) bind(store ast.Expr) []analysis.SuggestedFix {
	if api.GeneratedStore(c.info.TypeOf(store)) == nil || c.fn.Tx.Name == "_" || types.TypeString(c.info.TypeOf(c.fn.Tx), nil) != api.Persistable+".Tx" {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   "Bind the store to the transaction",
		TextEdits: []analysis.TextEdit{{Pos: store.End(), End: store.End(), NewText: []byte(".In(" + c.fn.Tx.Name + ")")}},
	}}
}
