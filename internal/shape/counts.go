// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// Counts are the numbers of a module that `make counts` prints.
type Counts struct {
	Methods, Away       int // of files other than tests
	OneWord, Unexported int // unexported methods of one word, and of any
	Types, Participles  int
	Sentences, Vague    int
}

// Count counts what the files hold.
func Count(files []*File) Counts {
	var c Counts
	methods := Methods(WithoutTests(files))
	single, unexported := OneWord(methods)
	c.Methods, c.OneWord, c.Unexported = len(methods), len(single), unexported
	for _, m := range methods {
		c.Away += bit(m.Away)
	}
	for _, t := range Types(files) {
		c.Types++
		c.Participles += bit(t.Participle)
	}
	for _, s := range Sentences(files) {
		c.Sentences++
		c.Vague += bit(s.Vague)
	}
	return c
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// WithoutTests returns the files that are not compiled for tests only.
func WithoutTests(files []*File) []*File {
	var kept []*File
	for _, f := range files {
		if !f.Test() {
			kept = append(kept, f)
		}
	}
	return kept
}

// Percent returns what part is of all, from 0 to 100; 0 of nothing.
func Percent(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }

// Sentence is a sentence of a comment.
type Sentence struct {
	Position
	Text string
	// Vague is set if it has who, nobody, somebody or one of their forms in the
	// place of an actor's name.
	Vague bool
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?:](\s+|$)|\n\s*\n`)
	vagueWord   = regexp.MustCompile(`(?i)\b(who|whom|whoever|whomever|nobody|somebody|someone|anybody|no one)\b`)
)

// Sentences returns the sentences of all comments: of those in front of a
// declaration, at the end of a line and within a function, but not of directives.
func Sentences(files []*File) []Sentence {
	var all []Sentence
	for _, f := range files {
		for _, group := range f.Syntax.Comments {
			all = append(all, sentences(f, group)...)
		}
	}
	return all
}

func sentences(f *File, group *ast.CommentGroup) []Sentence {
	var found []Sentence
	text := group.Text()
	line := f.position(group.Pos()).Line
	if strings.HasPrefix(text, "SPDX-") {
		return nil // the license
	}
	for _, s := range sentenceEnd.Split(text, -1) {
		at := Position{f.Path, line + strings.Count(text[:strings.Index(text, s)], "\n")}
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			found = append(found, Sentence{at, s, vagueWord.MatchString(s)})
		}
	}
	return found
}

// Length is the number of lines of a file or function.
type Length struct {
	Position
	Name  string
	Lines int
}

// FileLengths returns the lengths of files.
func FileLengths(files []*File) []Length {
	var all []Length
	for _, f := range files {
		lines := f.Set.File(f.Syntax.FileStart).LineCount()
		all = append(all, Length{Position{f.Path, 1}, f.Path, lines})
	}
	return all
}

// FunctionLengths returns the lengths of functions and methods, from the line of
// func to the line of the closing brace.
func FunctionLengths(files []*File) []Length {
	var all []Length
	for _, f := range files {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				lines := f.position(fn.End()).Line - f.position(fn.Pos()).Line + 1
				all = append(all, Length{f.position(fn.Pos()), fn.Name.Name, lines})
			}
		}
	}
	return all
}

// Percentile returns the length below which p percent of all lie, from 0 to 100;
// 0 if there is none.
func Percentile(all []Length, p int) int {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Length) int { return a.Lines - b.Lines })
	return sorted[(len(sorted)-1)*p/100].Lines
}
