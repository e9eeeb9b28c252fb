// SPDX-License-Identifier: Apache-2.0

// Package txescape reports transactions, futures, range reads, directories and stores bound
// to a transaction that outlive the transaction to which they belong:
//
//	var value []byte
//	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
//		value, err = tx.Get(key).Get(ctx) // the value may leave, the future may not
//		return err
//	})
package txescape

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer reports what outlives its transaction.
var Analyzer = &analysis.Analyzer{
	Name: "txescape",
	Doc: `report transactions, futures and directories that outlive their transaction

After the transaction, transactions and futures fail, and the prefix of a directory may
belong to another directory. Take the values out of the transaction instead.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#txescape",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r, reported: map[types.Object]bool{}}
		if !fn.Root || c.belongsToCaller() {
			continue
		}
		for at := range fn.Cursor.Preorder((*ast.AssignStmt)(nil), (*ast.SendStmt)(nil), (*ast.ReturnStmt)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}

// checker looks for what escapes from one transaction function.
type checker struct {
	info     *types.Info
	fn       *txfunc.Function
	reporter *ignore.Reporter
	reported map[types.Object]bool // outer variables, each of which is reported once
}

// belongsToCaller reports whether the function runs in a transaction of its caller,
// which goes on when the function has returned.
func (c *checker) belongsToCaller() bool {
	if c.fn.Call == nil {
		return false
	}
	if sel, ok := c.fn.Call.Fun.(*ast.SelectorExpr); ok && api.IsTransaction(c.info.TypeOf(sel.X)) {
		return true
	}
	for _, arg := range c.fn.Call.Args {
		if api.IsTransaction(c.info.TypeOf(arg)) {
			return true
		}
	}
	return false
}

func (c *checker) check(at inspector.Cursor) {
	switch n := at.Node().(type) {
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			c.checkAssigned(n, i, lhs)
		}
	case *ast.SendStmt:
		if k := c.kindOf(n.Value); k != none && c.fn.IsOuter(n.Chan) {
			c.report(n, k, "is sent on the channel "+types.ExprString(n.Chan))
		}
	case *ast.ReturnStmt:
		c.checkReturned(at, n)
	}
}

// checkAssigned reports the i-th assignment to an outer variable that is used after the
// transaction.
func (c *checker) checkAssigned(n *ast.AssignStmt, i int, lhs ast.Expr) {
	if !c.fn.IsOuter(lhs) || c.fn.IsDeclared() { // the receiver of a method is often made for one transaction
		return
	}
	k := none
	if len(n.Lhs) == len(n.Rhs) {
		k = c.kindOf(n.Rhs[i])
	} else if !c.outlives(n.Rhs[0]) {
		k = kindOfType(c.info.TypeOf(lhs))
	}
	obj := c.info.ObjectOf(expr.Base(lhs))
	if k != none && !c.reported[obj] && c.isUsedAfter(expr.Base(lhs), k) {
		c.reported[obj] = true
		c.report(n, k, "is assigned to "+types.ExprString(lhs)+", which outlives the transaction")
	}
}

// checkReturned reports what the transaction function itself returns.
func (c *checker) checkReturned(at inspector.Cursor, n *ast.ReturnStmt) {
	for above := range at.Enclosing((*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		if above != c.fn.Cursor {
			return
		}
		break
	}
	for _, result := range n.Results {
		if k := c.kindOf(result); k != none {
			c.report(n, k, "is returned from the transaction function")
		}
	}
}

func (c *checker) report(n ast.Node, k kind, what string) {
	c.reporter.Report(analysis.Diagnostic{
		Pos: n.Pos(), End: n.End(),
		Message: string(k) + " " + what + ": " + consequences[k],
	})
}

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
// parameter that is not a pointer.
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

// kind is what must not outlive a transaction, as messages call it.
type kind string

const (
	none        kind = ""
	transaction kind = "the transaction"
	future      kind = "a future"
	rangeRead   kind = "a range read"
	directory   kind = "a directory"
	bound       kind = "a store or query that is bound to the transaction"
)

// consequences say what happens, and what to do.
var consequences = map[kind]string{
	transaction: "after the function has returned it fails, or reads and writes what no commit contains. Do all that needs it in the function",
	future:      "after the transaction, or in the next attempt, it fails. Wait for it in the function and take its value",
	rangeRead:   "after the transaction, or in the next attempt, it fails. Read it in the function and take the pairs",
	directory:   "its prefix may belong to another directory by then. Open it again in each transaction, by a directory.Cache without cost",
	bound:       "after the transaction it fails. Bind the store anew in each transaction, and take the records",
}

// kindOf says what an expression is, none if it may outlive the transaction.
func (c *checker) kindOf(e ast.Expr) kind {
	e = ast.Unparen(e)
	if c.outlives(e) {
		return none
	}
	if k := kindOfType(c.info.TypeOf(e)); k != none {
		return k
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return c.kindOf(e.X)
	case *ast.CompositeLit:
		return c.kindOfElements(e)
	case *ast.CallExpr:
		return c.kindOfCall(e)
	}
	return none
}

// kindOfType says what values of a type are.
func kindOfType(t types.Type) kind {
	switch {
	case t == nil || isVoid(t):
		return none
	case api.IsTransaction(t):
		return transaction
	case api.Futures.HasType(t):
		return future
	case api.Ranges.HasType(t):
		return rangeRead
	case api.Directories.HasType(t):
		return directory
	}
	return none
}

// isVoid reports whether a type is a future without a value: a watch or a commit.
func isVoid(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.TypeArgs().Len() != 1 {
		return false
	}
	s, ok := named.TypeArgs().At(0).Underlying().(*types.Struct)
	return ok && s.NumFields() == 0
}

// outlives reports whether an expression is a future that becomes ready after the
// commit, such as that of GetVersionstamp.
func (c *checker) outlives(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		return api.Outliving.Has(api.Callee(c.info, e))
	case *ast.Ident:
		v := expr.Value(c.info, c.fn.Body, e)
		return v != nil && ast.Unparen(v) != e && c.outlives(v)
	}
	return false
}

// kindOfElements says what a member of a literal is.
func (c *checker) kindOfElements(lit *ast.CompositeLit) kind {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if k := c.kindOf(e); k != none {
			return k
		}
	}
	return none
}

// kindOfCall says what a call of append adds, or what a call of a bound store makes.
func (c *checker) kindOfCall(call *ast.CallExpr) kind {
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "append" {
		for _, arg := range call.Args[1:] {
			if k := c.kindOf(arg); k != none {
				return k
			}
		}
	}
	if isLazy(c.info.TypeOf(call)) && c.isBound(call) {
		return bound
	}
	return none
}

// isLazy reports whether values of a type read when they are used: stores, queries,
// iterators.
func isLazy(t types.Type) bool {
	if t == nil {
		return false
	}
	_, isFunc := t.Underlying().(*types.Signature)
	return isFunc || api.IsStore(t) || api.Queries.HasType(t)
}

// isBound reports whether a chain of calls begins with a store that is bound to the
// transaction: orders.In(tx).ByStatus(s).
func (c *checker) isBound(call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if sel.Sel.Name == "In" && len(call.Args) == 1 && api.IsTransaction(c.info.TypeOf(call.Args[0])) {
		return true
	}
	inner, ok := ast.Unparen(sel.X).(*ast.CallExpr)
	return ok && c.isBound(inner)
}
