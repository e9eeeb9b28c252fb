// SPDX-License-Identifier: Apache-2.0

package snippets

import "strings"

// Page is a document and its blocks of Go code.
type Page struct {
	Path   string
	Text   string
	Blocks []Block
}

// Block is a block of Go code.
type Block struct {
	Line        int // of its first line of code, from 1
	Code        string
	From        string // the file that it is an excerpt of, or ""
	NotCompiled string // why it is not checked, or ""
	Prelude     string // what it uses of the text around it
}

// Parse returns the blocks of a page.
func Parse(path, text string) *Page {
	p := &Page{Path: path, Text: text}
	var mark Block // what the comments before the next block say
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := strings.TrimSpace(lines[i]); {
		case line == "<!-- prelude":
			i, mark.Prelude = until(lines, i+1, "-->")
		case strings.HasPrefix(line, "<!-- prelude: "):
			mark.Prelude = comment(line, "<!-- prelude: ")
		case strings.HasPrefix(line, "<!-- from: "):
			mark.From = comment(line, "<!-- from: ")
		case strings.HasPrefix(line, "<!-- not compiled: "):
			mark.NotCompiled = comment(line, "<!-- not compiled: ")
		case line == "```go":
			mark.Line = i + 2
			i, mark.Code = until(lines, i+1, "```")
			p.Blocks = append(p.Blocks, mark)
			mark = Block{Prelude: mark.Prelude}
		case strings.HasPrefix(line, "```"):
			i, _ = until(lines, i+1, "```")
			mark = Block{Prelude: mark.Prelude}
		case line != "":
			mark = Block{Prelude: mark.Prelude} // the comment was not right before a block
		}
	}
	return p
}

// until returns the lines from i up to the one that is end, and the index of that.
func until(lines []string, i int, end string) (int, string) {
	begin := i
	for i < len(lines) && strings.TrimSpace(lines[i]) != end {
		i++
	}
	return i, strings.Join(lines[begin:min(i, len(lines))], "\n")
}

func comment(line, begin string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(line, begin), "-->"))
}
