// SPDX-License-Identifier: Apache-2.0

package unindexed

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// schema is the fact about a generated store that says which indexes it has.
type schema struct {
	Type      string
	ID        string // the field of the id; "" if it is not known
	Indexes   []definition
	CanFilter bool // the code can look at the values of a record's fields

	Deleted string // the field that says when a record was deleted; "" if there is none
}

// AFact makes schema a fact.
func (*schema) AFact() {}

// String describes the fact in the tests of analyzers.
func (s *schema) String() string {
	var names []string
	for _, d := range s.Indexes {
		names = append(names, strings.Join(d.Fields, ","))
	}
	return "indexes " + strings.Join(names, "; ")
}

// definition is what the choice of an index depends on in an index's definition.
type definition struct {
	Kind, Where, Signature string
	Fields, Sparse         []string
}

// fields is the fact about a generated variable of fields that says which name each
// has in indexes.
type fields struct{ All []field }

// field has the path of a field in the variable, and its name in indexes.
type field struct{ Path, Name string }

// AFact makes fields a fact.
func (*fields) AFact() {}

// String describes the fact in the tests of analyzers.
func (f *fields) String() string { return "fields" }

// name returns the name in indexes of the field at a path, "" if there is none.
func (f *fields) name(path string) string {
	for _, field := range f.All {
		if field.Path == path {
			return field.Name
		}
	}
	return ""
}

// message says that no index serves clauses, and what to do.
func (s *schema) message(method string, clauses []clause) string {
	names := fieldNames(clauses)
	return fmt.Sprintf("no index of %s serves the conditions on %s: %s returns a persistable.ErrNoIndex. "+
		"Declare an index, `_ persistable.Index` with the tag `persist:%q`, or call AllowScan if it may read all records",
		s.Type, strings.Join(names, ", "), method, strings.Join(names, ","))
}

// fieldNames returns the fields of clauses, those with equality first, each once.
func fieldNames(clauses []clause) (names []string) {
	seen := map[string]bool{}
	for _, equal := range []bool{true, false} {
		for _, c := range clauses {
			if (c.comparison == "Equal") == equal && !seen[c.field] {
				seen[c.field] = true
				names = append(names, c.field)
			}
		}
	}
	return names
}

// clause is a condition on one field. In is a condition with equality.
type clause struct{ field, comparison string }

// serves reports whether an index serves clauses, of which all must hold. Where that
// depends on values that only the program knows, it reports true.
func (s *schema) serves(clauses []clause) bool {
	if s.ID != "" && has(clauses, s.ID) {
		return true // by the records in the order of their ids, unless there are several alternatives
	}
	return slices.ContainsFunc(s.Indexes, func(d definition) bool { return s.choose(&d, clauses) })
}

// choose follows the planner of package persistable: an index serves clauses if it is of
// values, the first of its fields have clauses, and no record that fulfils them is
// missing in it.
func (s *schema) choose(d *definition, clauses []clause) bool {
	if d.Kind != "" || !s.mayImply(clauses, d.Where) {
		return false
	}
	equal, with := d.match(clauses)
	used := used(d, clauses, with)
	if used == 0 || !d.hasAll(with, clauses) {
		return false
	}
	once := with > equal && d.isSlice(equal)
	return s.CanFilter || used == len(clauses) && !once
}

// match returns how many leading fields have a clause with equality, and how many
// leading fields have any clause: the one after the equal fields may have a range.
func (d *definition) match(clauses []clause) (equal, with int) {
	for _, field := range d.Fields {
		if !slices.Contains(clauses, clause{field, "Equal"}) {
			break
		}
		equal++
	}
	if equal < len(d.Fields) && has(clauses, d.Fields[equal]) {
		return equal, equal + 1
	}
	return equal, equal
}

func has(clauses []clause, field string) bool {
	return slices.ContainsFunc(clauses, func(c clause) bool { return c.field == field })
}

// used counts the clauses on the first n fields of an index, and those that its
// predicate may say.
func used(d *definition, clauses []clause, n int) (count int) {
	for _, c := range clauses {
		if slices.Contains(d.Fields[:n], c.field) || mentions(d.Where, c.field) {
			count++
		}
	}
	return count
}

// hasAll reports whether an index may have all records that fulfil the clauses of its first n
// fields, in spite of nulls and empty slices.
func (d *definition) hasAll(n int, clauses []clause) bool {
	for i, field := range d.Fields {
		if d.isSlice(i) {
			if i >= n {
				return false
			}
			continue
		}
		if slices.Contains(d.Sparse, field) && !excludesNull(clauses, field) {
			return false
		}
	}
	return true
}

// excludesNull reports whether a clause on a field may exclude null.
func excludesNull(clauses []clause, field string) bool {
	return slices.ContainsFunc(clauses, func(c clause) bool {
		return c.field == field && c.comparison != "To" && c.comparison != "Before"
	})
}

// isSlice reports whether the i-th field is a slice.
func (d *definition) isSlice(i int) bool {
	kinds := strings.Split(d.Signature, ",")
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// mayImply reports whether there is a clause on each field of a predicate, but for the one that leaves
// deleted records out, as stores do.
func (s *schema) mayImply(clauses []clause, where string) bool {
	if where == "" {
		return true
	}
	for comparison := range strings.SplitSeq(where, " and ") {
		if at := strings.IndexAny(comparison, "=!<>"); at > 0 && comparison[:at] != s.Deleted && !has(clauses, comparison[:at]) {
			return false
		}
	}
	return true
}

// mentions reports whether a predicate has a comparison of a field.
func mentions(where, field string) bool {
	for comparison := range strings.SplitSeq(where, " and ") {
		if at := strings.IndexAny(comparison, "=!<>"); at > 0 && comparison[:at] == field {
			return true
		}
	}
	return false
}

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
			if name := r.fieldName(v); name != "" {
				all = append(all, field{Path: path + key, Name: name})
			}
		}
	}
	return all
}

// fieldName returns the name in a conversion of what persistimpl.NewField returns; "" for other
// calls.
func (r *reader) fieldName(conversion *ast.CallExpr) string {
	if len(conversion.Args) != 1 {
		return ""
	}
	made, ok := conversion.Args[0].(*ast.CallExpr)
	if !ok || len(made.Args) == 0 || !api.NewField.Has(api.Callee(r.pass.TypesInfo, made)) {
		return ""
	}
	return r.text(made.Args[0])
}

// schema reads a literal of persistimpl.Schema.
func (r *reader) schema(lit *ast.CompositeLit) *schema {
	s := new(schema)
	for key, value := range members(lit) {
		switch key {
		case "Type":
			s.Type = r.text(value)
		case "Lock":
			s.ID = idField(r.text(value))
		case "Values":
			s.CanFilter = true
		case "Deletion":
			if call, ok := value.(*ast.CallExpr); ok && len(call.Args) > 0 {
				s.Deleted = r.text(call.Args[0])
			}
		case "Indexes":
			if list, ok := value.(*ast.CompositeLit); ok {
				s.Indexes = r.definitions(list)
			}
		}
	}
	return s
}

// idField returns the name of the field with the number of ids in the text of a schema, which begins
// with the type itself.
func idField(lock string) string {
	_, rest, _ := strings.Cut(lock, "\tfield 1 ")
	name, _, _ := strings.Cut(rest, " ")
	return name
}

func (r *reader) definitions(list *ast.CompositeLit) (all []definition) {
	for _, e := range list.Elts {
		if lit, ok := e.(*ast.CompositeLit); ok {
			all = append(all, r.definition(lit))
		}
	}
	return all
}

// definition reads a literal of a definition.
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

// pointedAt returns the variable v of a call with &v as its second argument.
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
