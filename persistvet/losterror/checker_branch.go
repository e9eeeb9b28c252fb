// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

// loses reports whether an error is gone behind a continue or break: its variable ends with
// what the branch leaves, or nothing looks at it before another error is in it.
func (c *checker) loses(at inspector.Cursor, branch *ast.BranchStmt, err *ast.Ident) bool {
	left := leftBy(at, branch)
	if left == nil {
		return false
	}
	obj := c.info.ObjectOf(err)
	if left.Pos() <= obj.Pos() && obj.Pos() < left.End() {
		return true
	}
	return c.fn.Body.Pos() <= obj.Pos() && obj.Pos() < c.fn.Body.End() && !c.looksAt(left, err)
}

// leftBy returns the statement whose run, or whose round, a continue or break ends: nil
// for other branches.
func leftBy(at inspector.Cursor, branch *ast.BranchStmt) ast.Node {
	if branch.Tok != token.CONTINUE && branch.Tok != token.BREAK {
		return nil
	}
	for above := range at.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.SwitchStmt)(nil), (*ast.TypeSwitchStmt)(nil), (*ast.SelectStmt)(nil), (*ast.FuncLit)(nil)) {
		switch above.Node().(type) {
		case *ast.FuncLit:
			return nil
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if branch.Tok == token.CONTINUE {
				continue
			}
		}
		if branch.Label == nil || isLabelled(above, branch.Label.Name) {
			return above.Node()
		}
	}
	return nil
}

func isLabelled(c inspector.Cursor, name string) bool {
	label, ok := c.Parent().Node().(*ast.LabeledStmt)
	return ok && label.Label.Name == name
}

// looksAt reports whether the value that err has is read where the program may go on: behind
// the statement that is left, or in its next round before err gets another value.
func (c *checker) looksAt(left ast.Node, err *ast.Ident) (found bool) {
	obj, value := c.info.ObjectOf(err), expr.Value(c.info, c.fn.Body, err)
	assigned := map[ast.Expr]bool{}
	ast.Inspect(c.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, lhs := range n.Lhs {
				assigned[lhs] = true
			}
		case *ast.Ident:
			if c.info.Uses[n] == obj && !assigned[n] {
				found = found || c.mayRead(n, value, left)
			}
		}
		return !found
	})
	return found
}

// mayRead reports whether a use of a variable may read a value that it got in the statement
// that is left.
func (c *checker) mayRead(use *ast.Ident, value ast.Expr, left ast.Node) bool {
	before := expr.Value(c.info, c.fn.Body, use)
	if use.Pos() >= left.End() {
		return before == value
	}
	return use.Pos() >= left.Pos() && (before == nil || before.Pos() < left.Pos())
}
