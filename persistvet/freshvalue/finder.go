// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
)

// finder looks for fresh values in one package.
type finder struct {
	pass *analysis.Pass
	root inspector.Cursor

	stopwatches map[*types.Var]bool // whether variables are only compared
}

// check reports the fresh values of one transaction function. Those within the
// arguments of a reported call are a part of it.
func (f *finder) check(r *ignore.Reporter, fn *txfunc.Function) {
	fn.Cursor.Inspect([]ast.Node{(*ast.CallExpr)(nil)}, func(c inspector.Cursor) bool {
		call := c.Node().(*ast.CallExpr)
		what := f.source(call)
		if what == "" || f.isHarmless(c) || fn.IsGuarded(c) {
			return what == ""
		}
		r.Report(analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(),
			Message: "the transaction function takes " + what + ": a retry takes another one, and after a lost acknowledgement both may be stored. " +
				"Take it before the transaction",
		})
		return false
	})
}
