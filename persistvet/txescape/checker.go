// SPDX-License-Identifier: Apache-2.0

package txescape

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// checker looks for what escapes from one transaction function.
type checker struct {
	info     *types.Info
	fn       *txfunc.Function
	reporter *ignore.Reporter
	reported map[types.Object]bool // outer variables, each of which is reported once
}

// belongsToCaller reports whether the function runs in a transaction of its caller,
// which goes on when the function has returned.
func (c *checker) belongsToCaller() bool {
	if c.fn.Call == nil {
		return false
	}
	if sel, ok := c.fn.Call.Fun.(*ast.SelectorExpr); ok && api.IsTransaction(c.info.TypeOf(sel.X)) {
		return true
	}
	for _, arg := range c.fn.Call.Args {
		if api.IsTransaction(c.info.TypeOf(arg)) {
			return true
		}
	}
	return false
}

func (c *checker) check(at inspector.Cursor) {
	switch n := at.Node().(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			c.checkAssigned(n, i, lhs)
		}
	case *ast.SendStmt:
		if k := c.kindOf(n.Value); k != none && c.fn.IsOuter(n.Chan) {
			c.report(n, k, "is sent on the channel "+types.ExprString(n.Chan))
		}
	case *ast.ReturnStmt:
		c.checkReturned(at, n)
	}
}

// checkAssigned reports the i-th assignment to an outer variable that is used after the
// transaction.
func (c *checker) checkAssigned(n *ast.AssignStmt, i int, lhs ast.Expr) {
	if !c.fn.IsOuter(lhs) || c.fn.IsDeclared() { // the receiver of a method is often made for one transaction
		return
	}
	k := none
	if len(n.Lhs) == len(n.Rhs) {
		k = c.kindOf(n.Rhs[i])
	} else if !c.outlives(n.Rhs[0]) {
		k = kindOfType(c.info.TypeOf(lhs))
	}
	obj := c.info.ObjectOf(expr.Base(lhs))
	if k != none && !c.reported[obj] && c.isUsedAfter(expr.Base(lhs), k) {
		c.reported[obj] = true
		c.report(n, k, "is assigned to "+types.ExprString(lhs)+", which outlives the transaction")
	}
}

// checkReturned reports what the transaction function itself returns.
func (c *checker) checkReturned(at inspector.Cursor, n *ast.ReturnStmt) {
	for above := range at.Enclosing((*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		if above != c.fn.Cursor {
			return
		}
		break
	}
	for _, result := range n.Results {
		if k := c.kindOf(result); k != none {
			c.report(n, k, "is returned from the transaction function")
		}
	}
}

func (c *checker) report(n ast.Node, k kind, what string) {
	c.reporter.Report(analysis.Diagnostic{
		Pos: n.Pos(), End: n.End(),
		Message: string(k) + " " + what + ": " + consequences[k],
	})
}
