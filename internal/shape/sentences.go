// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/ast"
	"regexp"
	"strings"
)

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
