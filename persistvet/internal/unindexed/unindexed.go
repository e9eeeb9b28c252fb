// SPDX-License-Identifier: Apache-2.0

// Package unindexed reports queries by fields that no index of the generated schema serves,
// for which Find returns a persistable.ErrNoIndex:
//
//	q, err := orders.Find(OrderFields.Amount.From(100))             // reported: no index begins with Amount
//	q, err := orders.AllowScan().Find(OrderFields.Amount.From(100)) // reads all orders, on purpose
//
// It reads the generated schemas, including those of imported packages.
package unindexed

import (
	"go/ast"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer reports queries that no index serves.
var Analyzer = &analysis.Analyzer{
	Name: "unindexed",
	Doc: `report queries by fields that no index serves

Find returns a persistable.ErrNoIndex for them. Declare an index that begins with the
fields, or say by AllowScan that the query may read all records.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#unindexed",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, ignore.Analyzer},
	FactTypes:  []analysis.Fact{new(schema), new(fields)},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	(&reader{pass: pass, root: root}).exportFacts()
	r := ignore.NewReporter(pass)
	for at := range root.Preorder((*ast.CallExpr)(nil)) {
		check(pass, r, at.Node().(*ast.CallExpr))
	}
	return r.Uses, nil
}

// check reports a call of Find or FindOne if no index serves its conditions.
func check(pass *analysis.Pass, r *ignore.Reporter, call *ast.CallExpr) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !api.Searches.Has(api.Callee(pass.TypesInfo, call)) || call.Ellipsis.IsValid() {
		return
	}
	name := api.GeneratedStore(pass.TypesInfo.TypeOf(sel.X))
	s := new(schema)
	if name == nil || !pass.ImportObjectFact(name, s) {
		return
	}
	conditions := call.Args
	if sel.Sel.Name == "FindOne" {
		conditions = conditions[1:]
	}
	c := conditionReader{pass: pass}
	alternatives, known := c.all(conditions)
	if !known || len(conditions) == 0 {
		return
	}
	for _, clauses := range alternatives {
		if !s.serves(clauses) {
			r.Report(analysis.Diagnostic{Pos: call.Pos(), End: call.End(), Message: s.message(sel.Sel.Name, clauses)})
			return
		}
	}
}

// conditionReader reads the conditions of a query from its source.
type conditionReader struct{ pass *analysis.Pass }

// mostAlternatives is how many alternatives a query may have.
const mostAlternatives = 256

// all returns the alternatives of conditions that must all hold, each a list of
// clauses. known is false if a condition is not written out.
func (c conditionReader) all(conditions []ast.Expr) (alternatives [][]clause, known bool) {
	alternatives = [][]clause{nil}
	for _, e := range conditions {
		more, known := c.one(e)
		if !known || len(alternatives)*len(more) > mostAlternatives {
			return nil, false
		}
		alternatives = product(alternatives, more)
	}
	return alternatives, true
}

// product joins each of some alternatives with each of others.
func product(a, b [][]clause) (all [][]clause) {
	for _, left := range a {
		for _, right := range b {
			all = append(all, slices.Concat(left, right))
		}
	}
	return all
}

// one returns the alternatives of one condition.
func (c conditionReader) one(e ast.Expr) (alternatives [][]clause, known bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() {
		return nil, false
	}
	fn := api.Callee(c.pass.TypesInfo, call)
	switch {
	case api.Conditions.Has(fn) && fn.Name() == "And":
		return c.all(call.Args)
	case api.Conditions.Has(fn):
		return c.any(call.Args)
	case api.Prefixes.Has(fn) && len(call.Args) > 0:
		field := c.field(call.Args[0])
		return [][]clause{{{field, "Prefix"}}}, field != ""
	case api.Comparisons.Has(fn):
		return c.comparison(call, fn.Name())
	}
	return nil, false
}

// any returns the alternatives of conditions of which one must hold.
func (c conditionReader) any(conditions []ast.Expr) (alternatives [][]clause, known bool) {
	for _, e := range conditions {
		more, known := c.one(e)
		if !known {
			return nil, false
		}
		alternatives = append(alternatives, more...)
	}
	return alternatives, true
}

// comparison returns the clause of OrderFields.Status.Equal(v). One with nil is not
// known: whether an index has records with null depends on more than its fields.
func (c conditionReader) comparison(call *ast.CallExpr, name string) (alternatives [][]clause, known bool) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || c.pass.TypesInfo.Types[call.Args[0]].IsNil() {
		return nil, false
	}
	field := c.field(sel.X)
	if name == "In" {
		name = "Equal"
	}
	return [][]clause{{{field, name}}}, field != ""
}

// field returns the name that indexes give to the field at which an expression points,
// "" if it is not written as a part of a generated variable.
func (c conditionReader) field(e ast.Expr) string {
	path := ""
	for {
		sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		path = sel.Sel.Name + path
		if f := c.fieldsOf(sel.X); f != nil {
			return f.name(path)
		}
		path, e = "."+path, sel.X
	}
}

// fieldsOf returns the fact about a variable of fields, nil for other expressions.
func (c conditionReader) fieldsOf(e ast.Expr) *fields {
	var id *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	}
	f := new(fields)
	if obj := c.pass.TypesInfo.Uses[id]; id == nil || obj == nil || obj.Pkg() == nil || !c.pass.ImportObjectFact(obj, f) {
		return nil
	}
	return f
}

// members returns the members of a literal with names.
func members(lit *ast.CompositeLit) iter.Seq2[string, ast.Expr] {
	return func(yield func(string, ast.Expr) bool) {
		for _, e := range lit.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := pair.Key.(*ast.Ident); ok && !yield(key.Name, pair.Value) {
				return
			}
		}
	}
}
