// SPDX-License-Identifier: Apache-2.0

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

// add adds a comment. Behind code it silences its own line, otherwise the next one.
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
