// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// synchronization says what a call does to an outer variable of package sync.
func (c *checker) synchronization(call *ast.CallExpr) string {
	fn := api.Callee(c.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" || !c.fn.IsOuter(receiver(call)) {
		return ""
	}
	switch api.FullName(fn) {
	case "WaitGroup.Add", "WaitGroup.Done", "WaitGroup.Go":
		return "calls " + text(call.Fun) + " of an outer sync.WaitGroup"
	case "Once.Do":
		if len(call.Args) == 1 && c.usesTransaction(call.Args[0]) {
			return "uses the transaction in an outer sync.Once, which a retry skips"
		}
	}
	return ""
}

// isOnce reports whether a call runs a function in the first attempt only, on purpose.
func (c *checker) isOnce(at inspector.Cursor) bool {
	call, ok := at.Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := api.Callee(c.pass.TypesInfo, call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync" && api.FullName(fn) == "Once.Do"
}

// usesTransaction reports whether an expression has a transaction in it.
func (c *checker) usesTransaction(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || api.IsTransaction(c.pass.TypesInfo.TypeOf(id))
		}
		return !found
	})
	return found
}

// waits reports whether the function waits behind a go statement: it calls a method
// Wait or receives from a channel.
func (c *checker) waits(after *ast.GoStmt) (found bool) {
	ast.Inspect(c.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return n != after && !found
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW && n.Pos() > after.End()
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Wait" && n.Pos() > after.Pos()
		}
		return !found
	})
	return found
}
