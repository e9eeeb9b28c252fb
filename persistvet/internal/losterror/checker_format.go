// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// checkFormatted reports an error of the engine in a new error that does not wrap it.
func (c *checker) checkFormatted(call *ast.CallExpr) {
	fn := api.Callee(c.info, call)
	if fn == nil || fn.Pkg() == nil || len(call.Args) == 0 {
		return
	}
	switch fn.Pkg().Path() + "." + fn.Name() {
	case "fmt.Errorf":
		c.checkErrorf(call)
	case "errors.New":
		if err := c.textOf(call.Args[0]); err != nil {
			c.report(call, message("errors.New", err))
		}
	}
}

func message(by string, err *ast.Ident) string {
	return by + " makes a new error of the text of " + err.Name + ", an error of the engine: the retry loop does not recognise a conflict and ends. " +
		"Wrap " + err.Name + " with %w"
}

// checkErrorf reports the first argument of fmt.Errorf that should be wrapped.
func (c *checker) checkErrorf(call *ast.CallExpr) {
	verbs, known := verbsOf(call.Args[0])
	for i, arg := range call.Args[1:] {
		if err := c.textOf(arg); err != nil && !c.wraps(call, verbs, err) {
			c.report(call, message("fmt.Errorf", err))
			return
		}
		err, ok := ast.Unparen(arg).(*ast.Ident)
		if !ok || !known || i >= len(verbs) || !c.isEngineError(err) || c.wraps(call, verbs, err) {
			continue
		}
		c.reporter.Report(analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(), Message: message("fmt.Errorf", err), SuggestedFixes: verbs[i].wrap(err.Name),
		})
		return
	}
}

// wraps reports whether a call of fmt.Errorf wraps an error, in whichever argument.
func (c *checker) wraps(call *ast.CallExpr, verbs []verb, err *ast.Ident) bool {
	for i, v := range verbs {
		if v.letter != 'w' || i+1 >= len(call.Args) {
			continue
		}
		if id, ok := ast.Unparen(call.Args[i+1]).(*ast.Ident); ok && c.info.ObjectOf(id) == c.info.ObjectOf(err) {
			return true
		}
	}
	return false
}

// textOf returns the engine's error that an expression turns into text: err in
// err.Error(), even as a part of a concatenation.
func (c *checker) textOf(e ast.Expr) (found *ast.Ident) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return found == nil
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" && len(call.Args) == 0 {
			if err, ok := sel.X.(*ast.Ident); ok && c.isEngineError(err) {
				found = err
			}
		}
		return false
	})
	return found
}

// verb is a verb of a format in the source.
type verb struct {
	begin, end token.Pos
	letter     byte
	quote      string // as it is written in the format's literal
}

// wrap returns the fix by which the verb wraps an error and shows the same text: none for
// verbs that show something else of it.
func (v verb) wrap(name string) []analysis.SuggestedFix {
	edit := analysis.TextEdit{Pos: v.end - 1, End: v.end, NewText: []byte("w")} // flags and width stay
	switch {
	case v.letter == 'q' && v.end-v.begin == 2:
		edit = analysis.TextEdit{Pos: v.begin, End: v.end, NewText: []byte(v.quote + "%w" + v.quote)}
	case v.letter != 'v' && v.letter != 's':
		return nil
	}
	return []analysis.SuggestedFix{{Message: "Wrap " + name + " with %w", TextEdits: []analysis.TextEdit{edit}}}
}

// verbsOf returns the verbs of a format, one for each argument. known is false if the
// format is not a literal, or says which arguments its verbs take.
func verbsOf(format ast.Expr) (verbs []verb, known bool) {
	lit, ok := ast.Unparen(format).(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || strings.ContainsAny(lit.Value, "[*") {
		return nil, false
	}
	quote := `\"`
	if lit.Value[0] == '`' {
		quote = `"`
	}
	for i := 0; i < len(lit.Value); i++ {
		if lit.Value[i] != '%' {
			continue
		}
		end := i + 1 + len(lit.Value[i+1:]) - len(strings.TrimLeft(lit.Value[i+1:], "+-# 0123456789."))
		if end >= len(lit.Value) {
			break
		}
		if lit.Value[end] != '%' {
			verbs = append(verbs, verb{lit.Pos() + token.Pos(i), lit.Pos() + token.Pos(end+1), lit.Value[end], quote})
		}
		i = end
	}
	return verbs, true
}
