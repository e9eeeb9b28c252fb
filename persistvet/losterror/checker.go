// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// checker looks for lost errors in one transaction function.
type checker struct {
	info     *types.Info
	fn       *txfunc.Function
	reporter *ignore.Reporter
}

func (c *checker) check(at inspector.Cursor) {
	switch n := at.Node().(type) {
	case *ast.ExprStmt:
		c.checkIgnored(n)
	case *ast.AssignStmt:
		c.checkBlank(n)
	case *ast.IfStmt:
		c.checkReplaced(at, n)
	case *ast.CallExpr:
		c.checkFormatted(n)
	}
}

// checkIgnored reports a call whose results are not used.
func (c *checker) checkIgnored(n *ast.ExprStmt) {
	if call, ok := ast.Unparen(n.X).(*ast.CallExpr); ok && c.isEngineCall(call) {
		c.report(call, "the error of "+name(call)+" is ignored: a retry loop cannot see a conflict, and commits what the function wrote so far. "+
			"Return the error")
	}
}

// checkBlank reports a call whose error is assigned to the blank identifier.
func (c *checker) checkBlank(n *ast.AssignStmt) {
	if len(n.Rhs) != 1 || !isBlank(n.Lhs[len(n.Lhs)-1]) {
		return
	}
	if call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr); ok && c.isEngineCall(call) {
		c.report(call, "the error of "+name(call)+" is discarded: a retry loop cannot see a conflict, and commits what the function wrote so far. "+
			"Return the error")
	}
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// checkReplaced reports `if err != nil` with a return of nil or of another error, or with a
// continue or break behind which the error is not used.
func (c *checker) checkReplaced(at inspector.Cursor, n *ast.IfStmt) {
	err := c.failed(n.Cond)
	if err == nil || !c.returnsError(at) || c.uses(n.Body, err) {
		return
	}
	switch end := last(n.Body).(type) {
	case *ast.ReturnStmt:
		c.checkReturn(end, err)
	case *ast.BranchStmt:
		if c.loses(at, end, err) {
			c.report(end, "the "+end.Tok.String()+" swallows "+err.Name+", an error of the engine: the retry loop commits what the function wrote so far. "+
				"Return the error")
		}
	}
}

// checkReturn reports the return of nil or of another error in place of err.
func (c *checker) checkReturn(ret *ast.ReturnStmt, err *ast.Ident) {
	if len(ret.Results) == 0 {
		return
	}
	if id, ok := ast.Unparen(ret.Results[len(ret.Results)-1]).(*ast.Ident); ok && id.Name == "nil" {
		c.report(ret, "the function returns nil although "+err.Name+" is an error of the engine: the retry loop commits what the function wrote so far. "+
			"Return the error")
		return
	}
	c.report(ret, "the function returns another error in place of "+err.Name+", an error of the engine: the retry loop ends at a conflict. "+
		"Wrap "+err.Name+" with %w, too, or test it by errors.Is first")
}

func last(b *ast.BlockStmt) ast.Stmt {
	if len(b.List) == 0 {
		return nil
	}
	return b.List[len(b.List)-1]
}

// failed returns err of the condition err != nil, if the engine gave it: nil for all
// other conditions.
func (c *checker) failed(cond ast.Expr) *ast.Ident {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ || !c.info.Types[b.Y].IsNil() {
		return nil
	}
	if err, ok := ast.Unparen(b.X).(*ast.Ident); ok && c.isEngineError(err) {
		return err
	}
	return nil
}

// returnsError reports whether the innermost function around a statement returns an
// error.
func (c *checker) returnsError(at inspector.Cursor) bool {
	for above := range at.Enclosing((*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		switch n := above.Node().(type) {
		case *ast.FuncLit:
			return c.endsInError(n.Type)
		case *ast.FuncDecl:
			return c.endsInError(n.Type)
		}
	}
	return false
}

// uses reports whether a block does something with an error besides writing it to a log.
func (c *checker) uses(block *ast.BlockStmt, err *ast.Ident) (found bool) {
	obj := c.info.ObjectOf(err)
	ast.Inspect(block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !c.isLog(n)
		case *ast.Ident:
			found = found || c.info.ObjectOf(n) == obj
		}
		return !found
	})
	return found
}

func (c *checker) report(n ast.Node, message string) {
	c.reporter.Report(analysis.Diagnostic{Pos: n.Pos(), End: n.End(), Message: message})
}

func name(call *ast.CallExpr) string { return types.ExprString(call.Fun) }
