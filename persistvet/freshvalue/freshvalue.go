// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// Analyzer reports ids, clocks and random numbers that a transaction function takes.
var Analyzer = &analysis.Analyzer{
	Name: "freshvalue",
	Doc: `report ids, clocks and random numbers that a transaction function takes

A retry runs the function again and takes others. If the acknowledgement of a commit was
lost, both attempts have written: two records instead of one. Take the value before
the transaction.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#freshvalue",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, txfunc.Analyzer, ignore.Analyzer},
	FactTypes:  []analysis.Fact{new(fresh)},
	ResultType: ignore.UsesType,
	Run:        run,
}

// fresh is the fact that a function returns another value each time.
type fresh struct{ What string }

// AFact makes fresh a fact.
func (*fresh) AFact() {}

// String describes the fact in the tests of analyzers.
func (f *fresh) String() string { return "returns " + f.What }

func run(pass *analysis.Pass) (any, error) {
	f := finder{pass: pass, root: pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), stopwatches: map[*types.Var]bool{}}
	if !api.IsStandard(pass.Pkg.Path()) {
		f.exportFacts()
	}
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		if !fn.IsReadOnly() {
			f.check(r, fn)
		}
	}
	return r.Uses, nil
}
