// SPDX-License-Identifier: Apache-2.0

// Package retryeffect reports what a transaction function does besides reading and writing
// in its transaction, and what a retry repeats:
//
//	var names []string
//	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
//		names = names[:0] // without this line a retry appends the names again
//		for pair, err := range tx.GetRange(r, kv.RangeOptions{}).All(ctx) {
//			names = append(names, string(pair.Key))
//		}
//		return nil
//	})
//
// A method that gets the transaction, and adds to fields of its receiver, is reported where a
// transaction function calls it with a receiver that outlives the attempt.
//
// The assignment of a result to an outer variable is not reported: the last attempt wins.
package retryeffect

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
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

// addition is the fact that a method which runs in a transaction adds to fields of its
// receiver, without having begun anew: in an outer variable they have what each attempt added.
type addition struct{ Fields []string }

// AFact makes addition a fact.
func (*addition) AFact() {}

// String describes the fact in the tests of analyzers.
func (a *addition) String() string { return "adds to " + strings.Join(a.Fields, ", ") }

// reset is the fact that a method gives fields of its receiver new values. The field "" is the
// whole receiver.
type reset struct{ Fields []string }

// AFact makes reset a fact.
func (*reset) AFact() {}

// String describes the fact in the tests of analyzers.
func (r *reset) String() string { return "resets " + strings.Join(r.Fields, ", ") }

// actions are functions that act on the world outside of the process, by package. A
// name that ends in * stands for all that begin so.
var actions = map[string]struct {
	what  string
	names []string
}{
	"net/http":     {"makes an HTTP request", []string{"Get", "Head", "Post", "PostForm", "Client.*", "RoundTripper.RoundTrip", "Transport.RoundTrip"}},
	"net/smtp":     {"sends mail", []string{"SendMail", "Client.*"}},
	"os/exec":      {"runs a command", []string{"Cmd.Run", "Cmd.Start", "Cmd.Output", "Cmd.CombinedOutput"}},
	"database/sql": {"writes to another database", []string{"DB.Exec*", "DB.Begin*", "Conn.Exec*", "Stmt.Exec*"}},
	"os": {"changes files", []string{
		"WriteFile", "Create", "Remove", "RemoveAll", "Rename", "Mkdir", "MkdirAll", "Truncate", "Link", "Symlink",
		"File.Write*", "File.Truncate", "File.ReadFrom",
	}},
}

// answers is what a call does that writes to the client of an HTTP server.
const answers = "answers an HTTP request"

// outside says what a call does outside of the process, "" if nothing is known.
func outside(info *types.Info, call *ast.CallExpr) string {
	fn := api.Callee(info, call)
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	path, name := fn.Pkg().Path(), api.FullName(fn)
	if path == "net/http" && (strings.HasPrefix(name, "ResponseWriter.Write") || name == "Error" || name == "Redirect") {
		return answers
	}
	if path == "fmt" && strings.HasPrefix(name, "Fprint") && len(call.Args) > 0 {
		return written(info, call.Args[0])
	}
	if a, ok := actions[path]; ok && slices.ContainsFunc(a.names, func(p string) bool { return matches(p, name) }) && !isStandardStream(receiver(call)) {
		return a.what
	}
	return ""
}

func matches(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return name == pattern || open && strings.HasPrefix(name, prefix)
}

// written says what a print to w does.
func written(info *types.Info, w ast.Expr) string {
	switch types.TypeString(info.TypeOf(w), nil) {
	case "net/http.ResponseWriter":
		return answers
	case "*os.File":
		if !isStandardStream(w) {
			return "changes files"
		}
	}
	return ""
}

// receiver returns the receiver of a method call, nil for calls of functions.
func receiver(call *ast.CallExpr) ast.Expr {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		return sel.X
	}
	return nil
}

// isStandardStream reports whether an expression is os.Stdout or os.Stderr.
func isStandardStream(e ast.Expr) bool {
	if e == nil {
		return false
	}
	s := types.ExprString(e)
	return s == "os.Stdout" || s == "os.Stderr"
}

// isPrint reports whether a call writes a log or prints.
func isPrint(info *types.Info, call *ast.CallExpr) bool {
	fn := api.Callee(info, call)
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "log":
		return fn.Name() != "New"
	case "log/slog":
		return slices.Contains([]string{"Debug", "Info", "Warn", "Error", "Log"}, strings.TrimSuffix(fn.Name(), "Context"))
	case "fmt":
		return strings.HasPrefix(fn.Name(), "Print") || strings.HasPrefix(fn.Name(), "Fprint") && len(call.Args) > 0 && isStandardStream(call.Args[0])
	}
	return false
}
