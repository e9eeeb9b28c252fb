// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// Analyzer reports errors of the engine that a transaction function hides from the
// retry loop.
var Analyzer = &analysis.Analyzer{
	Name: "losterror",
	Doc: `report errors of the engine that the retry loop does not see

The loop tells by the error that the function returns whether to run it again. If the
function swallows an error, the loop commits what was written so far; if it hides the
error, the loop ends where it should retry. Return the error, or wrap it with %w.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#losterror",
	Requires:   []*analysis.Analyzer{txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r}
		for at := range fn.Cursor.Preorder((*ast.ExprStmt)(nil), (*ast.AssignStmt)(nil), (*ast.IfStmt)(nil), (*ast.CallExpr)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}
