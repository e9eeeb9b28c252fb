// SPDX-License-Identifier: Apache-2.0

package outsidetx

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

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
