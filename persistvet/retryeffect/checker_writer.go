// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
)

// Functions and methods that write, by package. A name that ends in * stands for all that
// begin so. The first parameter of a function, or the receiver of a method, is the writer.
var writers = map[string][]string{
	"bufio":           {"Writer.Write*"},
	"bytes":           {"Buffer.Write*"},
	"encoding/binary": {"Write"},
	"encoding/csv":    {"Writer.Write*"},
	"encoding/gob":    {"Encoder.Encode"},
	"encoding/json":   {"Encoder.Encode"},
	"encoding/xml":    {"Encoder.Encode"},
	"fmt":             {"Fprint*"},
	"html/template":   {"Template.Execute*"},
	"io":              {"WriteString", "Copy*", "Writer.Write", "StringWriter.WriteString"},
	"strings":         {"Builder.Write*"},
	"text/template":   {"Template.Execute*"},
}

// writer returns the variable to which a call writes: nil if it writes to none that is known.
func (c *checker) writer(call *ast.CallExpr) ast.Expr {
	fn := api.Callee(c.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	name := api.FullName(fn)
	if !slices.ContainsFunc(writers[fn.Pkg().Path()], func(p string) bool { return matches(p, name) }) {
		return nil
	}
	w := receiver(call)
	if fn.Signature().Recv() == nil || strings.HasPrefix(name, "Template.") {
		w = call.Args[0]
	}
	return c.base(w)
}

// base returns the writer to which w writes: that of json.NewEncoder(w), for example.
func (c *checker) base(w ast.Expr) ast.Expr {
	w = pointed(w)
	if isStandardStream(w) || types.ExprString(w) == "io.Discard" {
		return nil
	}
	if call, ok := w.(*ast.CallExpr); ok && strings.HasPrefix(text(call.Fun)[strings.LastIndex(text(call.Fun), ".")+1:], "New") && len(call.Args) > 0 {
		return c.base(call.Args[0])
	}
	if id, ok := w.(*ast.Ident); ok && !c.fn.IsOuter(id) {
		if made, ok := ast.Unparen(expr.Value(c.pass.TypesInfo, c.fn.Body, id)).(*ast.CallExpr); ok {
			return c.base(made)
		}
	}
	return w
}

// counters are the methods and functions that count, by package.
var counters = map[string][]string{
	"expvar":      {"Int.Add", "Float.Add", "Map.Add*"},
	"sync/atomic": {"Add*", "Int32.Add", "Int64.Add", "Uint32.Add", "Uint64.Add", "Uintptr.Add"},
	"github.com/prometheus/client_golang/prometheus": {"Counter.Inc", "Counter.Add"},
	"go.opentelemetry.io/otel/metric":                {"Int64Counter.Add", "Float64Counter.Add"},
}

// counted returns the variable in which a call counts, nil for other calls. A call whose
// result is used takes the next number, as each attempt may.
func counted(info *types.Info, at inspector.Cursor) ast.Expr {
	call := at.Node().(*ast.CallExpr)
	fn := api.Callee(info, call)
	if _, alone := at.Parent().Node().(*ast.ExprStmt); !alone || fn == nil || fn.Pkg() == nil {
		return nil
	}
	name := api.FullName(fn)
	if !slices.ContainsFunc(counters[fn.Pkg().Path()], func(p string) bool { return matches(p, name) }) {
		return nil
	}
	if fn.Signature().Recv() == nil {
		return pointed(call.Args[0])
	}
	return receiver(call)
}
