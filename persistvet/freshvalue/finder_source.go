// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"go/ast"
	"go/types"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// source says what a call takes: "" if it is nothing that differs each time.
func (f *finder) source(call *ast.CallExpr) string {
	fn := api.Callee(f.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	if api.Setters.Has(fn) {
		return "an id"
	}
	if api.Sources.Has(fn) {
		return "an id (" + f.name(fn) + ")"
	}
	if from, ok := foreign[fn.Pkg().Path()]; ok && from.has(api.FullName(fn)) {
		return from.what + " (" + f.name(fn) + ")"
	}
	var fact fresh
	if f.pass.ImportObjectFact(fn, &fact) {
		return fact.What + " through " + f.name(fn)
	}
	return ""
}

// name is the name of a function as a reader of the package writes it.
func (f *finder) name(fn *types.Func) string {
	if fn.Pkg() == f.pass.Pkg || fn.Signature().Recv() != nil {
		return api.FullName(fn)
	}
	return fn.Pkg().Name() + "." + fn.Name()
}
