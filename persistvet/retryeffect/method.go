// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

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

// method is a declared method whose receiver is a pointer with a name.
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
