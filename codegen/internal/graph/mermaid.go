// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// mermaidShapes are how flowcharts of Mermaid write nodes.
var mermaidShapes = [...]string{
	directory:   `["%s"]`,
	partition:   `[["%s"]]`,
	record:      `("%s")`,
	valueIndex:  `(["%s"])`,
	uniqueIndex: `{{"%s"}}`,
}

// Mermaid is the graph as a flowchart of Mermaid.
func (g *Graph) Mermaid() []byte {
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	for _, n := range g.nodes {
		lines := make([]string, len(n.lines))
		for i, line := range n.lines {
			lines[i] = mermaidText(line)
		}
		if n.shape == record {
			lines[0] = "<b>" + lines[0] + "</b>"
		}
		fmt.Fprintf(&b, "    %s"+mermaidShapes[n.shape]+"\n", n.name, strings.Join(lines, "<br/>"))
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "    %s --> %s\n", e.from.name, e.to.name)
	}
	return b.Bytes()
}

// mermaidText writes all characters as entities that mean something to Mermaid, to
// HTML or to Markdown: letters, digits and a few others do not.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range visible(text) {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,{}()=-", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// visible writes characters that cannot be seen, or change the direction of writing,
// as Go does in quotes.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
