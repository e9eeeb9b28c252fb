// SPDX-License-Identifier: Apache-2.0

package txescape

import (
	"go/ast"
	"go/types"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

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
