// SPDX-License-Identifier: Apache-2.0

package unindexed

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
)

// Analyzer reports queries that no index serves.
var Analyzer = &analysis.Analyzer{
	Name: "unindexed",
	Doc: `report queries by fields that no index serves

Find returns a *persistable.NoIndexError for them. Declare an index that begins with the
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

// check reports a call of Find or FindOne whose conditions no index serves.
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
