// SPDX-License-Identifier: Apache-2.0

// Package expr has small questions about Go's syntax that several analyzers ask.
//
//	id := expr.Base(lhs)                     // a of a.b[i].c
//	if value := expr.Value(info, body, id); value != nil {
//		// value is what the function assigned to the variable last before id
//	}
package expr

import (
	"go/ast"
	"go/types"
)

// Base returns the variable of which an expression is a part: a of a.b[i].c and of
// *a. It is nil for others.
func Base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// Value returns what the statements of a function before id assigned to its variable
// last, in the order of the source: nil if there is no assignment. A call of which
// id is one of several results is returned for each, and so is what a loop ranges over.
func Value(info *types.Info, body ast.Node, id *ast.Ident) (value ast.Expr) {
	obj := info.ObjectOf(id)
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || n.Pos() >= id.Pos() {
			return false
		}
		if v, ok := assigned(info, n, obj); ok && v.End() <= id.Pos() {
			value = v
		}
		return true
	})
	return value
}

// assigned returns what a statement assigns to a variable.
func assigned(info *types.Info, n ast.Node, obj types.Object) (ast.Expr, bool) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			if id, ok := lhs.(*ast.Ident); ok && info.ObjectOf(id) == obj {
				return n.Rhs[min(i, len(n.Rhs)-1)], true
			}
		}
	case *ast.RangeStmt:
		for _, lhs := range []ast.Expr{n.Key, n.Value} {
			if id, ok := lhs.(*ast.Ident); ok && info.ObjectOf(id) == obj {
				return n.X, true
			}
		}
	case *ast.ValueSpec:
		for i, id := range n.Names {
			if info.ObjectOf(id) == obj && len(n.Values) > 0 {
				return n.Values[min(i, len(n.Values)-1)], true
			}
		}
	}
	return nil, false
}

// Contains reports whether a variable is e or contains it, as x, x.y and *x do x.y.z.
func Contains(x, e ast.Expr) bool {
	x = ast.Unparen(x)
	star, _ := x.(*ast.StarExpr)
	for part := e; part != nil; part = outer(part) {
		part = ast.Unparen(part)
		if types.ExprString(x) == types.ExprString(part) || star != nil && part != e && types.ExprString(star.X) == types.ExprString(part) {
			return true
		}
	}
	return false
}

// outer returns the expression of which e is a part, nil if it is none.
func outer(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		return x.X
	case *ast.IndexExpr:
		return x.X
	case *ast.ParenExpr:
		return x.X
	case *ast.StarExpr:
		return x.X
	}
	return nil
}
