// SPDX-License-Identifier: Apache-2.0

// Package ignore silences findings by comments in the source. A comment is at the end of
// the line of the finding, or alone on the line before it, and gives the reason:
//
//	attemptsSeen = append(attemptsSeen, n) //persistvet:ignore retryeffect the test wants each attempt
//
// An analyzer reports by a [Reporter] and returns what it used:
//
//	r := ignore.NewReporter(pass)
//	r.Report(analysis.Diagnostic{Pos: call.Pos(), Message: "…"})
//	return r.Uses, nil
package ignore

import (
	"go/ast"
	"go/token"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Prefix is what a comment begins with.
const Prefix = "//persistvet:ignore"

// Analyzer reads the comments of a package. It reports nothing.
var Analyzer = &analysis.Analyzer{
	Name:       "ignorecomments",
	Doc:        "read the comments that silence findings",
	ResultType: reflect.TypeFor[*Comments](),
	Run:        func(pass *analysis.Pass) (any, error) { return read(pass), nil },
}

// Comment is one comment.
type Comment struct {
	Pos    token.Pos
	Rule   string // the name of an analyzer
	Reason string
}

// Comments are the comments of a package, and what its generated files are.
type Comments struct {
	All []*Comment

	fset      *token.FileSet
	byLine    map[line][]*Comment // by the line of which they silence findings
	generated map[string]bool     // by file
}

type line struct {
	file   string
	number int
}

func read(pass *analysis.Pass) *Comments {
	c := &Comments{fset: pass.Fset, byLine: map[line][]*Comment{}, generated: map[string]bool{}}
	for _, file := range pass.Files {
		c.generated[pass.Fset.Position(file.Package).Filename] = ast.IsGenerated(file)
		code := codeLines(pass.Fset, file)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				c.add(comment, code)
			}
		}
	}
	return c
}

// codeLines returns the lines on which something of the file's code ends.
func codeLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		}
		lines[fset.Position(n.Pos()).Line] = true
		lines[fset.Position(n.End()-1).Line] = true
		return true
	})
	return lines
}

// add adds a comment. After code it silences its own line, otherwise the next one.
func (c *Comments) add(comment *ast.Comment, code map[int]bool) {
	text, ok := strings.CutPrefix(comment.Text, Prefix)
	if !ok {
		return
	}
	text, _, _ = strings.Cut(text, "// want") // of a test of analyzers
	rule, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	found := &Comment{Pos: comment.Pos(), Rule: rule, Reason: strings.TrimSpace(reason)}
	c.All = append(c.All, found)
	at := c.line(comment.Pos())
	if !code[at.number] {
		at.number++
	}
	c.byLine[at] = append(c.byLine[at], found)
}

func (c *Comments) line(pos token.Pos) line {
	p := c.fset.Position(pos)
	return line{p.Filename, p.Line}
}

// at returns the comment that silences findings of a rule at a position, nil if there
// is none.
func (c *Comments) at(rule string, pos token.Pos) *Comment {
	for _, found := range c.byLine[c.line(pos)] {
		if found.Rule == rule && found.Reason != "" {
			return found
		}
	}
	return nil
}

// Uses has the positions of the comments that silenced a finding of an analyzer.
type Uses map[token.Pos]bool

// UsesType is the type of the result of analyzers that report by a [Reporter].
var UsesType = reflect.TypeFor[Uses]()

// Reporter reports the findings of an analyzer that no comment silences. It reports
// none in generated files: their generator is to be mended, not they.
type Reporter struct {
	Uses Uses

	pass     *analysis.Pass
	comments *Comments
}

// NewReporter returns the reporter of an analyzer that requires [Analyzer].
func NewReporter(pass *analysis.Pass) *Reporter {
	return &Reporter{Uses: Uses{}, pass: pass, comments: pass.ResultOf[Analyzer].(*Comments)}
}

// Report reports a finding, or notes the comment that silences it.
func (r *Reporter) Report(d analysis.Diagnostic) {
	if comment := r.comments.at(r.pass.Analyzer.Name, d.Pos); comment != nil {
		r.Uses[comment.Pos] = true
		return
	}
	if !r.comments.generated[r.pass.Fset.Position(d.Pos).Filename] {
		r.pass.Report(d)
	}
}
