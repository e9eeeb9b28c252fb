// SPDX-License-Identifier: Apache-2.0

package unindexed

import (
	"go/ast"
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// reader reads the schemas and fields of generated code.
type reader struct {
	pass *analysis.Pass
	root inspector.Cursor
}

// exportFacts says of each generated store which indexes it has, and of each variable
// of fields how indexes name them.
func (r *reader) exportFacts() {
	schemas := map[types.Object]*schema{}
	for c := range r.root.Preorder((*ast.ValueSpec)(nil)) {
		spec := c.Node().(*ast.ValueSpec)
		for i, id := range spec.Names {
			if lit := literal(spec, i); lit != nil && r.isPackageVariable(id) {
				r.readVariable(id, lit, schemas)
			}
		}
	}
	for c := range r.root.Preorder((*ast.FuncDecl)(nil)) {
		r.readFunction(c, schemas)
	}
}

func (r *reader) isPackageVariable(id *ast.Ident) bool {
	obj := r.pass.TypesInfo.Defs[id]
	return obj != nil && obj.Parent() == r.pass.Pkg.Scope()
}

func literal(spec *ast.ValueSpec, i int) *ast.CompositeLit {
	if i >= len(spec.Values) {
		return nil
	}
	lit, _ := spec.Values[i].(*ast.CompositeLit)
	return lit
}

// readVariable reads a variable that is a schema or a struct of fields.
func (r *reader) readVariable(id *ast.Ident, lit *ast.CompositeLit, schemas map[types.Object]*schema) {
	obj := r.pass.TypesInfo.Defs[id]
	if api.Schemas.HasType(r.pass.TypesInfo.TypeOf(lit)) {
		schemas[obj] = r.schema(lit)
		return
	}
	if all := r.fields("", lit); len(all) > 0 {
		r.pass.ExportObjectFact(obj, &fields{All: all})
	}
}

// fields returns the fields of a literal and of the structs nested in it.
func (r *reader) fields(path string, lit *ast.CompositeLit) (all []field) {
	for key, value := range members(lit) {
		switch v := value.(type) {
		case *ast.CompositeLit:
			all = append(all, r.fields(path+key+".", v)...)
		case *ast.CallExpr:
			if api.NewField.Has(api.Callee(r.pass.TypesInfo, v)) && len(v.Args) > 0 {
				all = append(all, field{Path: path + key, Name: r.text(v.Args[0])})
			}
		}
	}
	return all
}

// schema reads a literal of persistimpl.Schema.
func (r *reader) schema(lit *ast.CompositeLit) *schema {
	s := new(schema)
	for key, value := range members(lit) {
		switch key {
		case "Type":
			s.Type = r.text(value)
		case "Values":
			s.CanFilter = true
		case "Indexes":
			if list, ok := value.(*ast.CompositeLit); ok {
				s.Indexes = r.definitions(list)
			}
		}
	}
	return s
}

func (r *reader) definitions(list *ast.CompositeLit) (all []definition) {
	for _, e := range list.Elts {
		if lit, ok := e.(*ast.CompositeLit); ok {
			all = append(all, r.definition(lit))
		}
	}
	return all
}

// definition reads a literal of index.Definition.
func (r *reader) definition(lit *ast.CompositeLit) (d definition) {
	for key, value := range members(lit) {
		switch key {
		case "Kind":
			d.Kind = r.text(value)
		case "Where":
			d.Where = r.text(value)
		case "Signature":
			d.Signature = r.text(value)
		case "Fields":
			d.Fields = r.texts(value)
		case "Sparse":
			d.Sparse = r.texts(value)
		}
	}
	return d
}

// readFunction exports the schema of the store that a generated constructor returns.
func (r *reader) readFunction(c inspector.Cursor, schemas map[types.Object]*schema) {
	fn, _ := r.pass.TypesInfo.Defs[c.Node().(*ast.FuncDecl).Name].(*types.Func)
	if fn == nil || fn.Signature().Results().Len() != 1 {
		return
	}
	store := api.GeneratedStore(fn.Signature().Results().At(0).Type())
	if store == nil || store.Pkg() != r.pass.Pkg {
		return
	}
	for at := range c.Preorder((*ast.CallExpr)(nil)) {
		call := at.Node().(*ast.CallExpr)
		if !api.NewStore.Has(api.Callee(r.pass.TypesInfo, call)) {
			continue
		}
		if s := schemas[r.pointedAt(call)]; s != nil {
			r.pass.ExportObjectFact(store, s)
		}
	}
}

// pointedAt returns the variable whose address is the second argument of a call.
func (r *reader) pointedAt(call *ast.CallExpr) types.Object {
	if len(call.Args) < 2 {
		return nil
	}
	address, ok := call.Args[1].(*ast.UnaryExpr)
	if !ok {
		return nil
	}
	id, _ := address.X.(*ast.Ident)
	return r.pass.TypesInfo.Uses[id]
}

func (r *reader) texts(e ast.Expr) (all []string) {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, e := range lit.Elts {
		all = append(all, r.text(e))
	}
	return all
}

// text returns the value of a constant string.
func (r *reader) text(e ast.Expr) string {
	if v := r.pass.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}
