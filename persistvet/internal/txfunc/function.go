// SPDX-License-Identifier: Apache-2.0

package txfunc

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

// Function is a function that runs in a transaction.
type Function struct {
	Cursor inspector.Cursor // at an *ast.FuncLit or an *ast.FuncDecl
	Type   *ast.FuncType
	Body   *ast.BlockStmt
	Call   *ast.CallExpr // the call that has the literal as an argument; nil for others
	Tx     *ast.Ident    // the transaction; nil in a function of a retry loop that has none
	Root   bool          // a retry loop calls it, so that outer variables outlive an attempt

	info *types.Info
}

// IsOuter reports whether an expression is a variable that outlives an attempt: one
// that is declared outside of the function, the receiver of the method, or a part of
// these.
func (f *Function) IsOuter(e ast.Expr) bool {
	obj, ok := f.info.ObjectOf(expr.Base(e)).(*types.Var)
	if !ok {
		return false
	}
	if !f.Root {
		return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope()
	}
	return !f.Contains(obj.Pos()) || f.isReceiver(obj)
}

// IsReadOnly reports whether the transaction writes nothing.
func (f *Function) IsReadOnly() bool {
	if f.Call != nil && api.ReadLoops.Has(api.Callee(f.info, f.Call)) {
		return true
	}
	for _, field := range f.Type.Params.List {
		if t := f.info.TypeOf(field.Type); api.IsTransaction(t) && !api.ReadTransactions.HasType(t) {
			return false
		}
	}
	return f.Tx != nil
}

// Contains reports whether the function's parameters or its body contain a position.
func (f *Function) Contains(pos token.Pos) bool {
	n := f.Cursor.Node()
	return n.Pos() <= pos && pos < n.End()
}

// isReceiver reports whether a variable is the method's receiver.
func (f *Function) isReceiver(v *types.Var) bool {
	n, ok := f.Cursor.Node().(*ast.FuncDecl)
	return ok && n.Recv != nil && n.Recv.Pos() <= v.Pos() && v.Pos() < n.Recv.End()
}

// IsDeclared reports whether the function is a declared one, and no literal.
func (f *Function) IsDeclared() bool {
	_, ok := f.Cursor.Node().(*ast.FuncDecl)
	return ok
}

// IsGuarded reports whether what is at c happens in certain attempts only, on purpose:
// a condition above it looks at the number of attempts, or holds once because of a
// CompareAndSwap.
func (f *Function) IsGuarded(c inspector.Cursor) bool {
	for above := range c.Enclosing((*ast.IfStmt)(nil), (*ast.CaseClause)(nil), (*ast.SwitchStmt)(nil)) {
		if !f.Contains(above.Node().Pos()) {
			return false
		}
		switch n := above.Node().(type) {
		case *ast.IfStmt:
			if f.mentionsAttempt(n.Cond) {
				return true
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && f.mentionsAttempt(n.Tag) {
				return true
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if f.mentionsAttempt(e) {
					return true
				}
			}
		}
	}
	return false
}

func (f *Function) mentionsAttempt(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || CountsAttempts(id.Name) || id.Name == "CompareAndSwap" || api.Attempts.HasType(f.info.TypeOf(id))
		}
		return !found
	})
	return found
}

// CountsAttempts reports whether a variable with that name counts attempts: then it
// must not begin anew in each. Words of the name are compared whole: entries are no tries.
func CountsAttempts(name string) bool {
	return slices.ContainsFunc(words(name), func(word string) bool {
		switch strings.ToLower(word) {
		case "try", "tries", "attempt", "attempts", "attempted", "retry", "retries", "retried", "runs", "calls":
			return true
		}
		return false
	})
}

// words cuts a name in mixed caps, or with underscores, into its words.
func words(name string) []string {
	var all []string
	begin := 0
	for i, r := range name {
		if i > begin && (unicode.IsUpper(r) || r == '_') {
			all = append(all, strings.Trim(name[begin:i], "_"))
			begin = i
		}
	}
	return append(all, strings.Trim(name[begin:], "_"))
}
