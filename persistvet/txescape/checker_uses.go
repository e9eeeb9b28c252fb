// SPDX-License-Identifier: Apache-2.0

package txescape

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// isUsedAfter reports whether a variable is used after the transaction, before it gets
// another value. Of a variable of the package or of a method's receiver it assumes so.
func (c *checker) isUsedAfter(id *ast.Ident, k kind) bool {
	v, ok := c.info.ObjectOf(id).(*types.Var)
	if !ok {
		return false
	}
	around, local := c.enclosing(v)
	if !local {
		return true
	}
	for at := range around.Preorder((*ast.Ident)(nil)) {
		if at.Node().Pos() < c.end() || c.info.ObjectOf(at.Node().(*ast.Ident)) != v {
			continue
		}
		if at.ParentEdgeKind() == edge.AssignStmt_Lhs {
			return false
		}
		if k != directory || !c.isPathOnly(at) {
			return true
		}
	}
	return false
}

// end returns where the transaction ends in the source.
func (c *checker) end() token.Pos {
	if c.fn.Call != nil {
		return c.fn.Call.End()
	}
	return c.fn.Cursor.Node().End()
}

// enclosing returns the declared function that has the variable as a local one, or as a
// parameter that is no pointer.
func (c *checker) enclosing(v *types.Var) (inspector.Cursor, bool) {
	for above := range c.fn.Cursor.Enclosing((*ast.FuncDecl)(nil)) {
		n := above.Node().(*ast.FuncDecl)
		isReceiver := n.Recv != nil && v.Pos() < n.Recv.End()
		return above, n.Pos() <= v.Pos() && v.Pos() < n.End() && !isReceiver
	}
	return inspector.Cursor{}, false
}

// isPathOnly reports whether a use of a directory does not use its prefix: it calls a
// method that follows the path again, or compares the directory with nil.
func (c *checker) isPathOnly(at inspector.Cursor) bool {
	switch n := at.Parent().Node().(type) {
	case *ast.SelectorExpr:
		fn, ok := c.info.Uses[n.Sel].(*types.Func)
		return ok && api.PathMethods.Has(fn)
	case *ast.BinaryExpr:
		return n.Op == token.EQL || n.Op == token.NEQ
	}
	return false
}
