// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// checker looks for effects in one transaction function.
type checker struct {
	accumulation
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
	writeAfter  = "Write after the transaction, or to a buffer of the function"
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
		return c.call(at, n)
	}
	return "", ""
}

// count says that a statement counts in a variable which outlives the attempt.
func (c *checker) count(n ast.Node, x ast.Expr) string {
	if !c.isAccumulated(n, x) {
		return ""
	}
	return "counts in the outer variable " + text(x)
}

// isAccumulated reports whether a statement adds to a variable which outlives the
// attempt, without having begun anew in it.
func (c *checker) isAccumulated(n ast.Node, x ast.Expr) bool {
	return c.fn.IsOuter(x) && !countsAttempts(x) && !c.isReset(c.fn.Body, n, x)
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
	if x := c.moved(c.fn.Body, n); x != nil && c.isAccumulated(n, x) {
		return "reads from the outer variable " + text(x) + " and moves it on"
	}
	x, verb := c.added(n)
	if x == nil || !c.isAccumulated(n, x) {
		return ""
	}
	return verb + " the outer variable " + text(x)
}

// call says what a call does that a retry repeats.
func (c *checker) call(at inspector.Cursor, call *ast.CallExpr) (what, remedy string) {
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
	if x := counted(c.pass.TypesInfo, at); x != nil {
		return c.count(call, x), resetBefore
	}
	if w := c.writer(call); w != nil && c.isAccumulated(call, w) {
		return "writes to the outer variable " + text(w), writeAfter
	}
	return c.gathers(call), resetBefore
}

// gathers says that a call adds to a field of an outer variable.
func (c *checker) gathers(call *ast.CallExpr) string {
	for _, x := range c.gathered(call) {
		if c.isAccumulated(call, x) {
			return "adds to, or moves on, the outer variable " + text(x) + " in " + api.FullName(api.Callee(c.pass.TypesInfo, call))
		}
	}
	return ""
}
