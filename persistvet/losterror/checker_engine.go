// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

// isEngineError reports whether the last value that the function gave to a variable is an
// error of the engine.
func (c *checker) isEngineError(err *ast.Ident) bool {
	if !api.IsError(c.info.TypeOf(err)) {
		return false
	}
	call, ok := ast.Unparen(expr.Value(c.info, c.fn.Body, err)).(*ast.CallExpr)
	return ok && c.asksEngine(call)
}

// isEngineCall reports whether the last result of a call is an error of the engine.
func (c *checker) isEngineCall(call *ast.CallExpr) bool {
	s, ok := c.info.TypeOf(call.Fun).(*types.Signature)
	return ok && api.LastError(s) && c.asksEngine(call)
}

// asksEngine reports whether a call asks the engine: it takes a transaction, or it is
// one of an engine's or a store's.
func (c *checker) asksEngine(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	if fn != nil && isSetting(fn) {
		return false
	}
	for _, arg := range call.Args {
		if api.IsTransaction(c.info.TypeOf(arg)) {
			return true
		}
	}
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch path := fn.Pkg().Path(); {
	case path == api.FDB:
		return fn.Signature().Recv() != nil
	case path == api.FDBDirectory:
		return true
	case isKazahana(path) || isStoreMethod(fn):
		return takesContext(fn)
	}
	return false
}

// isSetting reports whether a method sets an option of a transaction, and asks nothing.
func isSetting(fn *types.Func) bool {
	recv, method, _ := strings.Cut(api.FullName(fn), ".")
	return method == "SetOption" || strings.HasSuffix(recv, "Options")
}

// isKazahana reports whether a package returns errors of an engine.
func isKazahana(path string) bool {
	switch path {
	case api.KV, api.Directory, api.Persistable, api.Module + "/index", api.Module + "/index/rank", api.Module + "/leasefdb":
		return true
	}
	return strings.HasPrefix(path, api.KV+"/")
}

// isStoreMethod reports whether a function is a method of a generated store.
func isStoreMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && api.IsStore(recv.Type())
}

// takesContext reports whether a function takes a context, as all do that may ask an
// engine.
func takesContext(fn *types.Func) bool {
	params := fn.Signature().Params()
	return params.Len() > 0 && types.TypeString(params.At(0).Type(), nil) == "context.Context"
}

// endsInError reports whether the last result of a function is an error.
func (c *checker) endsInError(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) == 0 {
		return false
	}
	return api.IsError(c.info.TypeOf(t.Results.List[len(t.Results.List)-1].Type))
}

// isLog reports whether a call writes to a log: to one of Go's, or by a method with the
// name of a level.
func (c *checker) isLog(call *ast.CallExpr) bool {
	fn := api.Callee(c.info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch path := fn.Pkg().Path(); {
	case path == "log" || path == "log/slog":
		return true
	case path == "fmt":
		return strings.HasPrefix(fn.Name(), "Print") || strings.HasPrefix(fn.Name(), "Fprint")
	case path == "testing":
		return false
	}
	level := strings.TrimRight(strings.TrimSuffix(fn.Name(), "Context"), "fw")
	return fn.Signature().Recv() != nil && levels[level]
}

// levels are the names of a logger's methods.
var levels = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Warning": true, "Error": true, "Print": true, "Println": true}
