// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// Analyzer reports effects of a transaction function that a retry repeats.
var Analyzer = &analysis.Analyzer{
	Name: "retryeffect",
	Doc: `report effects of a transaction function that a retry repeats

A retry runs the function again: it sends, appends, counts, calls and starts again what
the attempt before did already. Do it after the transaction, or begin anew at the
beginning of the function.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#retryeffect",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, txfunc.Analyzer, ignore.Analyzer},
	FactTypes:  []analysis.Fact{new(effect), new(addition), new(reset)},
	ResultType: ignore.UsesType,
	Run:        run,
}

// prints makes the analyzer report logs and prints, too.
var prints bool

func init() {
	Analyzer.Flags.BoolVar(&prints, "prints", false, "report calls that write a log or print, too")
}

// effect is the fact that a function acts on the world outside of the process.
type effect struct{ What string }

// AFact makes effect a fact.
func (*effect) AFact() {}

// String describes the fact in the tests of analyzers.
func (e *effect) String() string { return e.What }

func run(pass *analysis.Pass) (any, error) {
	if !api.IsStandard(pass.Pkg.Path()) {
		exportFacts(pass)
		exportFields(pass)
	}
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		c := checker{accumulation: accumulation{pass}, fn: fn, reporter: r}
		fn.Cursor.Inspect(nodes, c.check)
	}
	return r.Uses, nil
}

// exportFacts marks the functions that call something outside of the process
// themselves. Functions of transactions are none: the effect is reported in them.
func exportFacts(pass *analysis.Pass) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	for c := range root.Preorder((*ast.FuncDecl)(nil)) {
		fn, _ := pass.TypesInfo.Defs[c.Node().(*ast.FuncDecl).Name].(*types.Func)
		if fn == nil || api.TakesTransaction(fn) {
			continue
		}
		for call := range c.Preorder((*ast.CallExpr)(nil)) {
			if what := outside(pass.TypesInfo, call.Node().(*ast.CallExpr)); what != "" {
				pass.ExportObjectFact(fn, &effect{What: what})
				break
			}
		}
	}
}
