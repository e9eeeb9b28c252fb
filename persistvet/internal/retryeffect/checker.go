// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/expr"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// checker looks for effects in one transaction function.
type checker struct {
	accumulation
	fn       *txfunc.Function
	reporter *ignore.Reporter
}

// nodes are the kinds of syntax that can have an effect.
var nodes = []ast.Node{
	(*ast.SendStmt)(nil), (*ast.GoStmt)(nil), (*ast.IncDecStmt)(nil), (*ast.AssignStmt)(nil), (*ast.CallExpr)(nil),
}

// check reports the effect of a node. It returns whether to look at what the node contains.
func (c *checker) check(at inspector.Cursor) bool {
	what, remedy := c.effect(at)
	if what == "" {
		return !c.isOnce(at)
	}
	if !c.fn.IsGuarded(at) {
		c.reporter.Report(analysis.Diagnostic{
			Pos: at.Node().Pos(), End: at.Node().End(),
			Message: "the transaction function " + what + ": a retry does it again. " + remedy,
		})
	}
	return false
}

// What to do about effects.
const (
	doAfter     = "Do it after the transaction"
	writeAfter  = "Write after the transaction, or to a buffer of the function"
	resetBefore = "Reset the variable at the beginning of the function, or collect in a variable of the function"
)

// effect says what a node does that a retry repeats, and what to do about it: "" if
// it does nothing such.
func (c *checker) effect(at inspector.Cursor) (what, remedy string) {
	switch n := at.Node().(type) {
	case *ast.SendStmt:
		if c.fn.IsOuter(n.Chan) {
			return "sends on the channel " + text(n.Chan), doAfter
		}
	case *ast.GoStmt:
		if !c.waits(n) {
			return "starts a goroutine", "Start it after the transaction, or wait for its end in the function"
		}
	case *ast.IncDecStmt:
		return c.count(n, n.X), resetBefore
	case *ast.AssignStmt:
		return c.assignment(n), resetBefore
	case *ast.CallExpr:
		return c.call(at, n)
	}
	return "", ""
}

// count says that a statement counts in a variable which outlives the attempt.
func (c *checker) count(n ast.Node, x ast.Expr) string {
	if !c.isAccumulated(n, x) {
		return ""
	}
	return "counts in the outer variable " + text(x)
}

// isAccumulated reports whether a statement adds to a variable which outlives the
// attempt, without having begun anew in it.
func (c *checker) isAccumulated(n ast.Node, x ast.Expr) bool {
	return c.fn.IsOuter(x) && !countsAttempts(x) && !c.isReset(c.fn.Body, n, x)
}

// countsAttempts reports whether the name of a variable says that it counts attempts.
func countsAttempts(x ast.Expr) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || txfunc.CountsAttempts(id.Name)
		}
		return !found
	})
	return found
}

// assignment says what an assignment adds to an outer variable.
func (c *checker) assignment(n *ast.AssignStmt) string {
	if x := c.moved(c.fn.Body, n); x != nil && c.isAccumulated(n, x) {
		return "reads from the outer variable " + text(x) + " and moves it on"
	}
	x, verb := c.added(n)
	if x == nil || !c.isAccumulated(n, x) {
		return ""
	}
	return verb + " the outer variable " + text(x)
}

// call says what a call does that a retry repeats.
func (c *checker) call(at inspector.Cursor, call *ast.CallExpr) (what, remedy string) {
	if c.isBuiltin(call, "close") && len(call.Args) == 1 && c.fn.IsOuter(call.Args[0]) {
		return "closes the channel " + text(call.Args[0]), doAfter + ": a second close panics"
	}
	if what := outside(c.pass.TypesInfo, call); what != "" {
		return what, doAfter
	}
	if prints && isPrint(c.pass.TypesInfo, call) {
		return "prints", doAfter
	}
	if what := c.synchronization(call); what != "" {
		return what, doAfter
	}
	var fact effect
	if fn := api.Callee(c.pass.TypesInfo, call); fn != nil && c.pass.ImportObjectFact(fn, &fact) {
		return fact.What + " in " + api.FullName(fn), doAfter
	}
	if x := counted(c.pass.TypesInfo, at); x != nil {
		return c.count(call, x), resetBefore
	}
	if w := c.writer(call); w != nil && c.isAccumulated(call, w) {
		return "writes to the outer variable " + text(w), writeAfter
	}
	return c.gathers(call), resetBefore
}

// gathers says that a call adds to a field of an outer variable.
func (c *checker) gathers(call *ast.CallExpr) string {
	for _, x := range c.gathered(call) {
		if c.isAccumulated(call, x) {
			return "adds to, or moves on, the outer variable " + text(x) + " in " + api.FullName(api.Callee(c.pass.TypesInfo, call))
		}
	}
	return ""
}

// synchronization says what a call does to an outer variable of package sync.
func (c *checker) synchronization(call *ast.CallExpr) string {
	fn := api.Callee(c.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync" || !c.fn.IsOuter(receiver(call)) {
		return ""
	}
	switch api.FullName(fn) {
	case "WaitGroup.Add", "WaitGroup.Done", "WaitGroup.Go":
		return "calls " + text(call.Fun) + " of an outer sync.WaitGroup"
	case "Once.Do":
		if len(call.Args) == 1 && c.usesTransaction(call.Args[0]) {
			return "uses the transaction in an outer sync.Once, which a retry skips"
		}
	}
	return ""
}

// isOnce reports whether a call runs a function in the first attempt only, on purpose.
func (c *checker) isOnce(at inspector.Cursor) bool {
	call, ok := at.Node().(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := api.Callee(c.pass.TypesInfo, call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "sync" && api.FullName(fn) == "Once.Do"
}

// usesTransaction reports whether an expression has a transaction in it.
func (c *checker) usesTransaction(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || api.IsTransaction(c.pass.TypesInfo.TypeOf(id))
		}
		return !found
	})
	return found
}

// waits reports whether the function waits after a go statement: it calls a method
// Wait or receives from a channel.
func (c *checker) waits(after *ast.GoStmt) (found bool) {
	ast.Inspect(c.fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return n != after && !found
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW && n.Pos() > after.End()
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Wait" && n.Pos() > after.Pos()
		}
		return !found
	})
	return found
}

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

// counted returns the variable in which a call counts, nil for other calls. If the
// program uses the result, the call takes the next number, as each attempt may.
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
