// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

// accumulation knows what adds to variables and what resets them.
type accumulation struct{ pass *analysis.Pass }

// added returns the variable to which an assignment adds, and how: nil for others.
func (a accumulation) added(n *ast.AssignStmt) (x ast.Expr, verb string) {
	if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
		return n.Lhs[0], "counts in"
	}
	if len(n.Lhs) != len(n.Rhs) {
		return nil, ""
	}
	for i, rhs := range n.Rhs {
		switch rhs := ast.Unparen(rhs).(type) {
		case *ast.CallExpr:
			if a.isBuiltin(rhs, "append") && len(rhs.Args) > 1 && text(n.Lhs[i]) == text(rhs.Args[0]) {
				return n.Lhs[i], "appends to"
			}
		case *ast.BinaryExpr:
			if rhs.Op == token.ADD && (text(n.Lhs[i]) == text(rhs.X) || text(n.Lhs[i]) == text(rhs.Y)) {
				return n.Lhs[i], "counts in"
			}
		}
	}
	return nil, ""
}

// isReset reports whether a statement of a function's body before n gives x, or what
// contains x, a new value: then each attempt begins anew.
func (a accumulation) isReset(body *ast.BlockStmt, n ast.Node, x ast.Expr) bool {
	for _, s := range body.List {
		if s.End() > n.Pos() {
			return false
		}
		if a.resets(s, func(y ast.Expr) bool { return expr.Contains(y, x) }) {
			return true
		}
	}
	return false
}

// resets reports whether a statement gives a new value to a variable that fulfils is.
func (a accumulation) resets(s ast.Stmt, is func(ast.Expr) bool) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if x, _ := a.added(s); x != nil || s.Tok != token.ASSIGN {
			return false
		}
		for _, lhs := range s.Lhs {
			if is(lhs) {
				return true
			}
		}
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		return ok && a.empties(call, is)
	}
	return false
}

// empties reports whether a call empties a variable that fulfils is: clear(x), x.Reset(),
// x.Store(0), or a method that begins anew with fields of x.
func (a accumulation) empties(call *ast.CallExpr, is func(ast.Expr) bool) bool {
	fn := api.Callee(a.pass.TypesInfo, call)
	switch {
	case a.isBuiltin(call, "clear"), fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" && strings.HasPrefix(fn.Name(), "Store") && len(call.Args) == 2:
		return is(pointed(call.Args[0]))
	}
	x := receiver(call)
	if x == nil {
		return false
	}
	switch ast.Unparen(call.Fun).(*ast.SelectorExpr).Sel.Name {
	case "Reset", "Clear", "reset", "clear", "Store":
		return is(x)
	}
	var fact reset
	if fn == nil || !a.pass.ImportObjectFact(fn, &fact) {
		return false
	}
	for _, path := range fact.Fields {
		if is(field(x, path)) {
			return true
		}
	}
	return false
}

// addedAt returns the variables to which a node of a body adds, or that it moves on.
func (a accumulation) addedAt(body *ast.BlockStmt, n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.AssignStmt:
		if x, _ := a.added(n); x != nil {
			return []ast.Expr{x}
		}
		if x := a.moved(body, n); x != nil {
			return []ast.Expr{x}
		}
	case *ast.CallExpr:
		return a.gathered(n)
	}
	return nil
}

// gathered returns the fields to which a call adds, because its method does.
func (a accumulation) gathered(call *ast.CallExpr) (all []ast.Expr) {
	var fact addition
	fn, x := api.Callee(a.pass.TypesInfo, call), receiver(call)
	if fn == nil || x == nil || !a.pass.ImportObjectFact(fn, &fact) {
		return nil
	}
	for _, path := range fact.Fields {
		all = append(all, field(x, path))
	}
	return all
}

// pointed returns x of &x, and other expressions as they are.
func pointed(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		return ast.Unparen(u.X)
	}
	return e
}

func (a accumulation) isBuiltin(call *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, builtin := a.pass.TypesInfo.Uses[id].(*types.Builtin)
	return builtin
}

func text(e ast.Expr) string { return types.ExprString(ast.Unparen(e)) }

// field returns the expression for the fields of x with that path.
func field(x ast.Expr, path string) ast.Expr {
	if path == "" {
		return &ast.StarExpr{X: x}
	}
	for name := range strings.SplitSeq(path, ".") {
		x = &ast.SelectorExpr{X: x, Sel: ast.NewIdent(name)}
	}
	return x
}
