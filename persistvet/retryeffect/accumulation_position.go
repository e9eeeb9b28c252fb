// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// moved returns the field to which an assignment gives the position at which the next
// transaction is to go on: the function has read from there, by a call before the
// assignment, so that a retry goes on behind what it should read again. It is nil for others.
// Variables that are no fields may hold what one attempt tells the next, such as what it has
// made, and are left out.
func (a accumulation) moved(body *ast.BlockStmt, n *ast.AssignStmt) ast.Expr {
	if n.Tok != token.ASSIGN {
		return nil
	}
	for _, x := range n.Lhs {
		if _, isField := ast.Unparen(x).(*ast.SelectorExpr); !isField {
			continue
		}
		if call := a.readFrom(body, n, x); call != nil && !a.isReset(body, call, x) {
			return x
		}
	}
	return nil
}

// readFrom returns the first call before n, or in it, that asks the engine with x as an argument.
func (a accumulation) readFrom(body *ast.BlockStmt, n ast.Node, x ast.Expr) (found *ast.CallExpr) {
	if !isPosition(a.pass.TypesInfo.TypeOf(x)) {
		return nil
	}
	ast.Inspect(body, func(at ast.Node) bool {
		call, ok := at.(*ast.CallExpr)
		if ok && found == nil && call.End() <= n.End() && a.takesTransaction(call) && mentions(call.Args, x) {
			found = call
		}
		return found == nil
	})
	return found
}

// isPosition reports whether a variable of a type may hold a position: a key, a number, a token.
func isPosition(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsInteger|types.IsString) != 0
	case *types.Slice:
		b, ok := u.Elem().Underlying().(*types.Basic)
		return ok && b.Kind() == types.Byte
	}
	return false
}

// takesTransaction reports whether a call is one of a method of a transaction, or takes one.
func (a accumulation) takesTransaction(call *ast.CallExpr) bool {
	if x := receiver(call); x != nil && api.IsTransaction(a.pass.TypesInfo.TypeOf(x)) {
		return true
	}
	for _, arg := range call.Args {
		if api.IsTransaction(a.pass.TypesInfo.TypeOf(arg)) {
			return true
		}
	}
	return false
}

// mentions reports whether expressions have x in them.
func mentions(all []ast.Expr, x ast.Expr) (found bool) {
	want := text(x)
	for _, e := range all {
		ast.Inspect(e, func(n ast.Node) bool {
			part, ok := n.(ast.Expr)
			found = found || ok && types.ExprString(part) == want
			return !found
		})
	}
	return found
}
