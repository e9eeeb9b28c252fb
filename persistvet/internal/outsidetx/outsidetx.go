// SPDX-License-Identifier: Apache-2.0

// Package outsidetx reports what a transaction function reads and writes in another
// transaction than its own: through a store that is not bound to it, or a database.
//
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		return orders.In(tx).Create(ctx, order) // orders.Create would commit by itself
//	})
package outsidetx

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer reports what a transaction function does in another transaction.
var Analyzer = &analysis.Analyzer{
	Name: "outsidetx",
	Doc: `report what a transaction function reads and writes outside of its transaction

A store that is not bound by In, and a call with the database in place of the
transaction, is a transaction of its own: it commits even if the function's
transaction fails, a retry repeats it, and it may conflict with the function itself.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#outsidetx",
	Requires:   []*analysis.Analyzer{txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r}
		if fn.Tx == nil {
			continue
		}
		for at := range fn.Cursor.Preorder((*ast.CallExpr)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}

// checker looks at one transaction function.
type checker struct {
	info     *types.Info
	fn       *txfunc.Function
	reporter *ignore.Reporter
}

func (c *checker) check(at inspector.Cursor) {
	call := at.Node().(*ast.CallExpr)
	d, found := c.operation(call)
	if !found {
		d, found = c.argument(call)
	}
	if !found {
		d, found = c.store(at, call)
	}
	if found && !c.fn.IsGuarded(at) && !c.isOwn(call) {
		c.reporter.Report(d)
	}
}

// isOwn reports whether a call is a transaction of its own on purpose: it gets a context of
// persistable.OwnTransaction.
func (c *checker) isOwn(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, c.isOwnContext)
}

// isOwnContext reports whether an expression, or what was assigned to a variable, is a call
// of persistable.OwnTransaction.
func (c *checker) isOwnContext(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		fn := api.Callee(c.info, e)
		return fn != nil && fn.FullName() == api.Persistable+".OwnTransaction"
	case *ast.Ident:
		v := c.valueOf(e)
		return v != nil && ast.Unparen(v) != e && c.isOwnContext(v)
	}
	return false
}

// valueOf returns what was assigned to a variable, in the transaction function or in what
// encloses it; nil if that is not certain.
func (c *checker) valueOf(id *ast.Ident) ast.Expr {
	if !c.fn.IsOuter(id) {
		return expr.Value(c.info, c.fn.Body, id)
	}
	for above := range c.fn.Cursor.Enclosing((*ast.FuncDecl)(nil)) {
		if v := expr.Value(c.info, above.Node(), id); v != nil {
			return v
		}
	}
	return nil
}

// consequence is what happens with a transaction of its own.
const consequence = ": it commits even if the function's transaction fails, and a retry does it again. "

// operation finds a call of a database that is a transaction.
func (c *checker) operation(call *ast.CallExpr) (d analysis.Diagnostic, found bool) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !api.IsDatabase(c.info.TypeOf(sel.X)) || !c.isTransaction(call) {
		return d, false
	}
	return diagnostic(call, types.ExprString(call.Fun)+" in a transaction function is a transaction of its own"+consequence+
		"Use "+c.tx()+", or do it before or after the transaction"), true
}

// isTransaction reports whether a call of a database is a transaction.
func (c *checker) isTransaction(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	return fn != nil && (api.Operations.Has(fn) || fn.Name() == "Transact" || fn.Name() == "ReadTransact")
}

// argument finds a call that takes a database or a transaction, and gets a database.
func (c *checker) argument(call *ast.CallExpr) (d analysis.Diagnostic, found bool) {
	s, ok := c.info.TypeOf(call.Fun).(*types.Signature)
	if !ok || c.info.Types[call.Fun].IsType() {
		return d, false
	}
	for i, arg := range call.Args {
		if i >= s.Params().Len() || !api.Transactors.HasType(s.Params().At(i).Type()) || !api.IsDatabase(c.info.TypeOf(arg)) {
			continue
		}
		d = diagnostic(call, types.ExprString(call.Fun)+" gets the database "+types.ExprString(arg)+" and is a transaction of its own"+consequence+
			"Give it "+c.tx())
		d.SuggestedFixes = c.replace(arg, s.Params().At(i).Type())
		return d, true
	}
	return d, false
}

// replace returns the fix that puts the transaction in the place of a database, if it is
// of the type wanted.
func (c *checker) replace(arg ast.Expr, want types.Type) []analysis.SuggestedFix {
	if c.fn.Tx.Name == "_" || !types.AssignableTo(c.info.TypeOf(c.fn.Tx), want) {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   "Give it the transaction",
		TextEdits: []analysis.TextEdit{{Pos: arg.Pos(), End: arg.End(), NewText: []byte(c.fn.Tx.Name)}},
	}}
}

// tx is the name of the function's transaction in messages.
func (c *checker) tx() string {
	if c.fn.Tx.Name == "_" {
		return "the transaction"
	}
	return c.fn.Tx.Name
}

func diagnostic(n ast.Node, message string) analysis.Diagnostic {
	return analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: message}
}

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
