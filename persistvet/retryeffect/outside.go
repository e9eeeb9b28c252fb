// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

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

// receiver returns the value of which a call calls a method, nil if it is no method.
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
