// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"fmt"
	"strings"
)

// dotShapes are the attributes of nodes in Graphviz.
var dotShapes = [...]string{
	directory:   `shape=folder`,
	partition:   `shape=folder, style=bold`,
	record:      `shape=box, style=rounded`,
	valueIndex:  `shape=ellipse`,
	uniqueIndex: `shape=ellipse, peripheries=2`,
}

// dotText escapes what means something in a quoted string of Graphviz, which also
// reads HTML's entities.
var dotText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`)

// DOT is the graph in the language of Graphviz.
func (g *Graph) DOT() []byte {
	var b bytes.Buffer
	b.WriteString("digraph persistgen {\n    rankdir=LR;\n")
	for _, n := range g.nodes {
		end := `\n`
		if n.shape == record {
			end = `\l` // to the left
		}
		fmt.Fprintf(&b, "    %s [%s, label=\"", n.name, dotShapes[n.shape])
		for _, line := range n.lines {
			b.WriteString(dotText.Replace(visible(line)) + end)
		}
		b.WriteString("\"];\n")
	}
	for _, e := range g.edges {
		fmt.Fprintf(&b, "    %s -> %s;\n", e.from.name, e.to.name)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
