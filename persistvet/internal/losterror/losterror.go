// SPDX-License-Identifier: Apache-2.0

// Package losterror reports errors of the engine that do not reach the retry loop as what
// they are, because a transaction function ignores, replaces or reformats them:
//
//	value, err := tx.Get(key).Get(ctx)
//	if err != nil {
//		return fmt.Errorf("read the balance: %w", err) // with %v a conflict would end the loop
//	}
//
// An error that is tested first, by errors.Is or a switch, is not reported.
package losterror

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer reports errors of the engine that a transaction function hides from the
// retry loop.
var Analyzer = &analysis.Analyzer{
	Name: "losterror",
	Doc: `report errors of the engine that the retry loop does not see

The loop tells by the error that the function returns whether to run it again. If the
function swallows an error, the loop commits what was written so far; if it hides the
error, the loop ends where it should retry. Return the error, or wrap it with %w.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#losterror",
	Requires:   []*analysis.Analyzer{txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r}
		for at := range fn.Cursor.Preorder((*ast.ExprStmt)(nil), (*ast.AssignStmt)(nil), (*ast.IfStmt)(nil), (*ast.CallExpr)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}

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

// checkIgnored reports a call that drops its results.
func (c *checker) checkIgnored(n *ast.ExprStmt) {
	if call, ok := ast.Unparen(n.X).(*ast.CallExpr); ok && c.isEngineCall(call) {
		c.report(call, "the error of "+name(call)+" is ignored: a retry loop cannot see a conflict, and commits what the function wrote so far. "+
			"Return the error")
	}
}

// checkBlank reports a call that assigns its error to the blank identifier.
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
// continue or break after which nothing uses the error.
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

// loses reports whether an error is gone after a continue or break: its variable ends with
// the statement that the branch leaves, or gets another error before anything reads it.
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

// leftBy returns the statement that a break leaves, or the loop that a continue goes on
// with: nil for other branches.
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

// looksAt reports whether the program may read the value of err where it goes on: after
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

// isEngineError reports whether the last value that the function gave to a variable is an
// error of the engine.
func (c *checker) isEngineError(err *ast.Ident) bool {
	if !api.IsError(c.info.TypeOf(err)) {
		return false
	}
	call, ok := ast.Unparen(expr.Value(c.info, c.fn.Body, err)).(*ast.CallExpr)
	return ok && c.asksEngine(call)
}

// isEngineCall reports whether the last result of a call is an error of the engine.
func (c *checker) isEngineCall(call *ast.CallExpr) bool {
	s, ok := c.info.TypeOf(call.Fun).(*types.Signature)
	return ok && api.LastError(s) && c.asksEngine(call)
}

// asksEngine reports whether a call asks the engine: it takes a transaction, or it is
// one of an engine's or a store's.
func (c *checker) asksEngine(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	if fn != nil && isSetting(fn) {
		return false
	}
	for _, arg := range call.Args {
		if api.IsTransaction(c.info.TypeOf(arg)) {
			return true
		}
	}
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch path := fn.Pkg().Path(); {
	case path == api.FDB:
		return fn.Signature().Recv() != nil
	case path == api.FDBDirectory:
		return true
	case isKazahana(path) || isStoreMethod(fn):
		return takesContext(fn)
	}
	return false
}

// isSetting reports whether a method sets an option of a transaction, and asks nothing.
func isSetting(fn *types.Func) bool {
	recv, method, _ := strings.Cut(api.FullName(fn), ".")
	return method == "SetOption" || strings.HasSuffix(recv, "Options")
}

// isKazahana reports whether a package returns errors of an engine.
func isKazahana(path string) bool {
	switch path {
	case api.KV, api.Directory, api.Persistable, api.Module + "/internal/index", api.Module + "/internal/rank", api.Module + "/leasefdb":
		return true
	}
	return strings.HasPrefix(path, api.KV+"/")
}

// isStoreMethod reports whether a function is a method of a generated store.
func isStoreMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && api.IsStore(recv.Type())
}

// takesContext reports whether a function takes a context, as all do that may ask an
// engine.
func takesContext(fn *types.Func) bool {
	params := fn.Signature().Params()
	return params.Len() > 0 && types.TypeString(params.At(0).Type(), nil) == "context.Context"
}

// endsInError reports whether the last result of a function is an error.
func (c *checker) endsInError(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) == 0 {
		return false
	}
	return api.IsError(c.info.TypeOf(t.Results.List[len(t.Results.List)-1].Type))
}

// isLog reports whether a call writes to a log: to one of Go's, or by a method with the
// name of a level.
func (c *checker) isLog(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch path := fn.Pkg().Path(); {
	case path == "log" || path == "log/slog":
		return true
	case path == "fmt":
		return strings.HasPrefix(fn.Name(), "Print") || strings.HasPrefix(fn.Name(), "Fprint")
	case path == "testing":
		return false
	}
	level := strings.TrimRight(strings.TrimSuffix(fn.Name(), "Context"), "fw")
	return fn.Signature().Recv() != nil && levels[level]
}

// levels are the names of a logger's methods.
var levels = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Warning": true, "Error": true, "Print": true, "Println": true}
