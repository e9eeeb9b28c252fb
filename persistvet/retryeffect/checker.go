// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// checker looks for effects in one transaction function.
type checker struct {
	pass     *analysis.Pass
	fn       *txfunc.Function
	reporter *ignore.Reporter
}

// nodes are the kinds of syntax that can have an effect.
var nodes = []ast.Node{
	(*ast.SendStmt)(nil), (*ast.GoStmt)(nil), (*ast.IncDecStmt)(nil), (*ast.AssignStmt)(nil), (*ast.CallExpr)(nil),
}

// check reports the effect of a node. It returns whether to look at what the node contains.
func (c *checker) check(at inspector.Cursor) bool {
	what, remedy := c.effect(at)
	if what == "" {
		return !c.isOnce(at)
	}
	if !c.fn.IsGuarded(at) {
		c.reporter.Report(analysis.Diagnostic{
			Pos: at.Node().Pos(), End: at.Node().End(),
			Message: "the transaction function " + what + ": a retry does it again. " + remedy,
		})
	}
	return false
}

// What to do about effects.
const (
	doAfter     = "Do it after the transaction"
	resetBefore = "Reset the variable at the beginning of the function, or collect in a variable of the function"
)

// effect says what a node does that a retry repeats, and what to do about it: "" if
// it does nothing such.
func (c *checker) effect(at inspector.Cursor) (what, remedy string) {
	switch n := at.Node().(type) {
	case *ast.SendStmt:
		if c.fn.IsOuter(n.Chan) {
			return "sends on the channel " + text(n.Chan), doAfter
		}
	case *ast.GoStmt:
		if !c.waits(n) {
			return "starts a goroutine", "Start it after the transaction, or wait for its end in the function"
		}
	case *ast.IncDecStmt:
		return c.count(n, n.X), resetBefore
	case *ast.AssignStmt:
		return c.assignment(n), resetBefore
	case *ast.CallExpr:
		return c.call(n)
	}
	return "", ""
}

// count says that a statement counts in a variable which outlives the attempt.
func (c *checker) count(n ast.Stmt, x ast.Expr) string {
	if !c.isAccumulated(n, x) {
		return ""
	}
	return "counts in the outer variable " + text(x)
}

// isAccumulated reports whether a statement adds to a variable which outlives the
// attempt, without having begun anew in it.
func (c *checker) isAccumulated(n ast.Stmt, x ast.Expr) bool {
	return c.fn.IsOuter(x) && !countsAttempts(x) && !c.isReset(n, x)
}

// countsAttempts reports whether the name of a variable says that it counts attempts.
func countsAttempts(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || txfunc.CountsAttempts(id.Name)
		}
		return !found
	})
	return found
}

// assignment says what an assignment adds to an outer variable.
func (c *checker) assignment(n *ast.AssignStmt) string {
	if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
		return c.count(n, n.Lhs[0])
	}
	for i, rhs := range n.Rhs {
		call, ok := ast.Unparen(rhs).(*ast.CallExpr)
		if ok && c.isBuiltin(call, "append") && len(n.Lhs) == len(n.Rhs) && c.appends(n, n.Lhs[i], call) {
			return "appends to the outer variable " + text(n.Lhs[i])
		}
	}
	return ""
}

// appends reports whether an assignment adds to what is in an outer slice already.
func (c *checker) appends(n *ast.AssignStmt, lhs ast.Expr, call *ast.CallExpr) bool {
	return text(lhs) == text(call.Args[0]) && len(call.Args) > 1 && c.isAccumulated(n, lhs)
}

// isReset reports whether a statement of the function's body before n gives x, or what
// contains x, a new value: then each attempt begins anew.
func (c *checker) isReset(n ast.Stmt, x ast.Expr) bool {
	for _, s := range c.fn.Body.List {
		if s.End() > n.Pos() {
			return false
		}
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.ASSIGN && expr.Assigns(s, x) && !isAppend(s, x) {
				return true
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && c.empties(call, x) {
				return true
			}
		}
	}
	return false
}

// isAppend reports whether an assignment only adds to x.
func isAppend(s *ast.AssignStmt, x ast.Expr) bool {
	for _, rhs := range s.Rhs {
		if call, ok := ast.Unparen(rhs).(*ast.CallExpr); ok && len(call.Args) > 0 && text(call.Fun) == "append" && text(call.Args[0]) == text(x) {
			return true
		}
	}
	return false
}

// empties reports whether a call empties x, or what contains it: clear(x), x.Reset().
func (c *checker) empties(call *ast.CallExpr, x ast.Expr) bool {
	if c.isBuiltin(call, "clear") && len(call.Args) == 1 {
		return isPart(x, call.Args[0])
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "Reset" || sel.Sel.Name == "Clear" || sel.Sel.Name == "reset" || sel.Sel.Name == "clear") && isPart(x, sel.X)
}

// isPart reports whether x is a variable, or a part of it.
func isPart(x, of ast.Expr) bool {
	id, whole := expr.Base(x), expr.Base(of)
	return id != nil && whole != nil && id.Name == whole.Name && len(text(of)) <= len(text(x))
}

func (c *checker) isBuiltin(call *ast.CallExpr, name string) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, builtin := c.pass.TypesInfo.Uses[id].(*types.Builtin)
	return builtin
}

// call says what a call does that a retry repeats.
func (c *checker) call(call *ast.CallExpr) (what, remedy string) {
	if c.isBuiltin(call, "close") && len(call.Args) == 1 && c.fn.IsOuter(call.Args[0]) {
		return "closes the channel " + text(call.Args[0]), doAfter + ": a second close panics"
	}
	if what := outside(c.pass.TypesInfo, call); what != "" {
		return what, doAfter
	}
	if prints && isPrint(c.pass.TypesInfo, call) {
		return "prints", doAfter
	}
	if what := c.synchronization(call); what != "" {
		return what, doAfter
	}
	var fact effect
	if fn := api.Callee(c.pass.TypesInfo, call); fn != nil && c.pass.ImportObjectFact(fn, &fact) {
		return fact.What + " in " + api.FullName(fn), doAfter
	}
	return "", ""
}

func text(e ast.Expr) string { return types.ExprString(ast.Unparen(e)) }
