// SPDX-License-Identifier: Apache-2.0

package txescape

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"

	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// Analyzer reports what outlives its transaction.
var Analyzer = &analysis.Analyzer{
	Name: "txescape",
	Doc: `report transactions, futures and directories that outlive their transaction

After the transaction, transactions and futures fail, and the prefix of a directory may
belong to another directory. Take the values out of the transaction instead.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#txescape",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, txfunc.Analyzer, ignore.Analyzer},
	ResultType: ignore.UsesType,
	Run:        run,
}

func run(pass *analysis.Pass) (any, error) {
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{info: pass.TypesInfo, fn: fn, reporter: r, reported: map[types.Object]bool{}}
		if !fn.Root || c.belongsToCaller() {
			continue
		}
		for at := range fn.Cursor.Preorder((*ast.AssignStmt)(nil), (*ast.SendStmt)(nil), (*ast.ReturnStmt)(nil)) {
			c.check(at)
		}
	}
	return r.Uses, nil
}
