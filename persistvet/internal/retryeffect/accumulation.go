// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
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

// moved returns the field that an assignment sets to the position from which the next
// transaction continues. The function has read from that position, in a call before the
// assignment, so a retry skips what it should read again. It is nil for other assignments.
// Variables that are not fields are left out: they may hold what one attempt tells the
// next, such as what it has made.
func (a accumulation) moved(body *ast.BlockStmt, n *ast.AssignStmt) ast.Expr {
	if n.Tok != token.ASSIGN {
		return nil
	}
	for _, x := range n.Lhs {
		if _, isField := ast.Unparen(x).(*ast.SelectorExpr); !isField {
			continue
		}
		if call := a.readFrom(body, n, x); call != nil && !a.isReset(body, call, x) {
			return x
		}
	}
	return nil
}

// readFrom returns the first call before n, or in it, that asks the engine with x as an argument.
func (a accumulation) readFrom(body *ast.BlockStmt, n ast.Node, x ast.Expr) (found *ast.CallExpr) {
	if !isPosition(a.pass.TypesInfo.TypeOf(x)) {
		return nil
	}
	ast.Inspect(body, func(at ast.Node) bool {
		call, ok := at.(*ast.CallExpr)
		if ok && found == nil && call.End() <= n.End() && a.takesTransaction(call) && mentions(call.Args, x) {
			found = call
		}
		return found == nil
	})
	return found
}

// isPosition reports whether a variable of a type may hold a position: a key, a number, a token.
func isPosition(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsInteger|types.IsString) != 0
	case *types.Slice:
		b, ok := u.Elem().Underlying().(*types.Basic)
		return ok && b.Kind() == types.Byte
	}
	return false
}

// takesTransaction reports whether a call is one of a method of a transaction, or takes one.
func (a accumulation) takesTransaction(call *ast.CallExpr) bool {
	if x := receiver(call); x != nil && api.IsTransaction(a.pass.TypesInfo.TypeOf(x)) {
		return true
	}
	for _, arg := range call.Args {
		if api.IsTransaction(a.pass.TypesInfo.TypeOf(arg)) {
			return true
		}
	}
	return false
}

// mentions reports whether expressions have x in them.
func mentions(all []ast.Expr, x ast.Expr) (found bool) {
	want := text(x)
	for _, e := range all {
		ast.Inspect(e, func(n ast.Node) bool {
			part, ok := n.(ast.Expr)
			found = found || ok && types.ExprString(part) == want
			return !found
		})
	}
	return found
}

// exportFields marks the methods that reset fields, and those that add to fields, until those
// that call marked ones of the same receiver are marked, too.
func exportFields(pass *analysis.Pass) {
	a := accumulation{pass}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if m := newMethod(a, d); m != nil {
				m.exportResets()
			}
		}
	}
	functions := pass.ResultOf[txfunc.Analyzer].(txfunc.Functions)
	for changed := true; changed; {
		changed = false
		for _, fn := range functions {
			d, _ := fn.Cursor.Node().(*ast.FuncDecl)
			if m := newMethod(a, d); m != nil && m.exportAdditions(fn) {
				changed = true
			}
		}
	}
}

// method is a declared method with a named pointer receiver.
type method struct {
	accumulation
	fn   *types.Func
	recv types.Object
	body *ast.BlockStmt
}

// newMethod returns the method of a declaration, nil for others.
func newMethod(a accumulation, d ast.Decl) *method {
	n, ok := d.(*ast.FuncDecl)
	if !ok || n == nil || n.Body == nil || n.Recv == nil || len(n.Recv.List) != 1 || len(n.Recv.List[0].Names) != 1 {
		return nil
	}
	fn, _ := a.pass.TypesInfo.Defs[n.Name].(*types.Func)
	recv := a.pass.TypesInfo.Defs[n.Recv.List[0].Names[0]]
	if fn == nil || recv == nil {
		return nil
	}
	if _, pointer := recv.Type().(*types.Pointer); !pointer {
		return nil
	}
	return &method{a, fn, recv, n.Body}
}

// exportResets marks a method that resets fields in the statements of its body.
func (m *method) exportResets() {
	var fact reset
	for _, s := range m.body.List {
		m.resets(s, func(x ast.Expr) bool {
			if path, ok := m.path(x); ok {
				fact.Fields = append(fact.Fields, path)
			}
			return false
		})
	}
	if len(fact.Fields) > 0 {
		m.pass.ExportObjectFact(m.fn, &fact)
	}
}

// exportAdditions marks a method that adds to fields. It reports whether there are more of
// them than the method was marked with before.
func (m *method) exportAdditions(fn *txfunc.Function) bool {
	var was, is addition
	m.pass.ImportObjectFact(m.fn, &was)
	for at := range fn.Cursor.Preorder((*ast.AssignStmt)(nil), (*ast.IncDecStmt)(nil), (*ast.CallExpr)(nil)) {
		for _, x := range m.addedAt(m.body, at.Node()) {
			path, ok := m.path(x)
			if ok && path != "" && !countsAttempts(x) && !m.isReset(m.body, at.Node(), x) && !fn.IsGuarded(at) && !slices.Contains(is.Fields, path) {
				is.Fields = append(is.Fields, path)
			}
		}
	}
	if len(is.Fields) <= len(was.Fields) {
		return false
	}
	m.pass.ExportObjectFact(m.fn, &is)
	return true
}

// path returns the fields by which an expression leads from the receiver, such as a.b for
// r.a.b, r.a.b[i] and *r.a.b.
func (m *method) path(x ast.Expr) (path string, ok bool) {
	id := expr.Base(x)
	if id == nil || m.pass.TypesInfo.ObjectOf(id) != m.recv {
		return "", false
	}
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.Ident:
			return strings.TrimPrefix(path, "."), true
		case *ast.SelectorExpr:
			path, x = "."+e.Sel.Name+path, e.X
		case *ast.IndexExpr:
			path, x = "", e.X
		case *ast.StarExpr:
			x = e.X
		default:
			return "", false
		}
	}
}
