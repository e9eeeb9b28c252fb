// SPDX-License-Identifier: Apache-2.0

package outsidetx

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// Analyzer reports what a transaction function does in another transaction.
var Analyzer = &analysis.Analyzer{
	Name: "outsidetx",
	Doc: `report what a transaction function reads and writes outside of its transaction

A store that is not bound by In, and a call with the database in place of the
transaction, is a transaction of its own: it commits even if the function's
transaction fails, a retry repeats it, and it may conflict with the function itself.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#outsidetx",
	Requires:   []*analysis.Analyzer{txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r}
		if fn.Tx == nil {
			continue
		}
		for at := range fn.Cursor.Preorder((*ast.CallExpr)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}
