// SPDX-License-Identifier: Apache-2.0

// Package txfunc finds the functions of a package that run in a transaction: those that
// are passed to Transact and its like, and those that take a transaction.
//
//	functions := pass.ResultOf[txfunc.Analyzer].(txfunc.Functions)
//	for _, f := range functions {
//		for c := range f.Cursor.Preorder((*ast.CallExpr)(nil)) {
//			// c is a call in f; if f.Root, a retry repeats it
//		}
//	}
package txfunc

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer finds the transaction functions of a package. It reports nothing.
var Analyzer = &analysis.Analyzer{
	Name:       "txfunc",
	Doc:        "find functions that run in a transaction",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	ResultType: reflect.TypeFor[Functions](),
	Run:        func(pass *analysis.Pass) (any, error) { return find(pass), nil },
}

// Functions are the transaction functions of a package, in the order of the source. None
// of them is within another: what a transaction function contains belongs to it.
type Functions []*Function

// finder collects the functions of one package.
type finder struct {
	info   *types.Info
	passed map[types.Object]bool // functions that are passed to a call
}

func find(pass *analysis.Pass) (all Functions) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	f := finder{info: pass.TypesInfo, passed: passedFunctions(pass.TypesInfo, root)}
	root.Inspect([]ast.Node{(*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)}, func(c inspector.Cursor) bool {
		found := f.function(c)
		if found != nil {
			all = append(all, found)
		}
		return found == nil
	})
	return all
}

// passedFunctions returns the declared functions that are arguments of a call.
func passedFunctions(info *types.Info, root inspector.Cursor) map[types.Object]bool {
	passed := map[types.Object]bool{}
	for c := range root.Preorder((*ast.CallExpr)(nil)) {
		for _, arg := range c.Node().(*ast.CallExpr).Args {
			switch e := ast.Unparen(arg).(type) {
			case *ast.Ident:
				passed[info.Uses[e]] = true
			case *ast.SelectorExpr:
				passed[info.Uses[e.Sel]] = true
			}
		}
	}
	return passed
}

// function returns the transaction function at c, nil if it is none.
func (f *finder) function(c inspector.Cursor) *Function {
	switch n := c.Node().(type) {
	case *ast.FuncLit:
		return f.literal(c, n)
	case *ast.FuncDecl:
		return f.declaration(c, n)
	}
	return nil
}

func (f *finder) literal(c inspector.Cursor, n *ast.FuncLit) *Function {
	call := callOf(c)
	tx := f.transaction(n.Type)
	if tx != nil && (f.isWrapper(n.Type) || call == nil && f.ends(n.Body) || f.isInEngine(c)) {
		return nil
	}
	if tx == nil && (call == nil || !api.Loops.Has(api.Callee(f.info, call))) {
		return nil
	}
	return &Function{Cursor: c, Type: n.Type, Body: n.Body, Call: call, Tx: tx, Root: true, info: f.info}
}

// callOf returns the call that has the function literal at c as an argument.
func callOf(c inspector.Cursor) *ast.CallExpr {
	if kind, _ := c.ParentEdge(); kind != edge.CallExpr_Args {
		return nil
	}
	return c.Parent().Node().(*ast.CallExpr)
}

// declaration returns a declared function that takes a transaction, unless it is a part
// of an engine or of a retry loop.
func (f *finder) declaration(c inspector.Cursor, n *ast.FuncDecl) *Function {
	tx := f.transaction(n.Type)
	if tx == nil || n.Body == nil || f.isWrapper(n.Type) || f.isLoop(n) {
		return nil
	}
	return &Function{Cursor: c, Type: n.Type, Body: n.Body, Tx: tx, Root: f.passed[f.info.Defs[n.Name]], info: f.info}
}

// transaction returns the first parameter that is a transaction. One without a name is
// returned with the name _.
func (f *finder) transaction(t *ast.FuncType) *ast.Ident {
	for _, field := range t.Params.List {
		if !api.IsTransaction(f.info.TypeOf(field.Type)) {
			continue
		}
		if len(field.Names) == 0 {
			return ast.NewIdent("_")
		}
		return field.Names[0]
	}
	return nil
}

// isWrapper reports whether a function returns a transaction: it makes one of another, and
// runs in neither.
func (f *finder) isWrapper(t *ast.FuncType) bool {
	if t.Results == nil {
		return false
	}
	for _, field := range t.Results.List {
		if t := f.info.TypeOf(field.Type); api.IsTransaction(t) || api.HasMethod(t, "OnError") {
			return true
		}
	}
	return false
}

// isInEngine reports whether a function literal is in a method of an engine that runs
// functions of its caller, such as Transact of a wrapper.
func (f *finder) isInEngine(c inspector.Cursor) bool {
	for above := range c.Enclosing((*ast.FuncDecl)(nil)) {
		n := above.Node().(*ast.FuncDecl)
		return n.Recv != nil && endsInTransact(n.Name.Name) && f.isLoop(n)
	}
	return false
}

func endsInTransact(name string) bool { return strings.HasSuffix(name, "Transact") }

// isLoop reports whether a function belongs to an engine or a retry loop: its receiver
// is a transaction itself, it takes a function of transactions, or it ends attempts.
func (f *finder) isLoop(n *ast.FuncDecl) bool {
	if n.Recv != nil && len(n.Recv.List) == 1 && isEngine(f.info.TypeOf(n.Recv.List[0].Type)) {
		return true
	}
	for _, field := range n.Type.Params.List {
		if s, ok := f.info.TypeOf(field.Type).(*types.Signature); ok && takesTransaction(s) {
			return true
		}
	}
	return f.ends(n.Body)
}

// isEngine reports whether a type is an engine's: a transaction, or a wrapper of one.
func isEngine(t types.Type) bool {
	return api.IsTransaction(t) || api.HasMethod(t, "OnError") || api.HasMethod(t, "Transact")
}

func takesTransaction(s *types.Signature) bool {
	for v := range s.Params().Variables() {
		if api.IsTransaction(v.Type()) {
			return true
		}
	}
	return false
}

// ends reports whether a function ends attempts of a transaction, itself or by kv.Retry.
func (f *finder) ends(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || endings[n.Sel.Name] && api.IsTransaction(f.info.TypeOf(n.X))
		case *ast.CallExpr:
			found = found || api.Retries.Has(api.Callee(f.info, n))
		}
		return !found
	})
	return found
}

// endings are the methods of a transaction that end an attempt.
var endings = map[string]bool{"Commit": true, "CommitAsync": true, "OnError": true, "Reset": true, "Cancel": true}

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
