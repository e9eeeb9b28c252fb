// SPDX-License-Identifier: Apache-2.0

// Package graph draws the types of packages: the directories that hold them as a tree,
// the fields that are in directories and indexes, and the indexes. The drawing is text,
// in the language of Mermaid, which GitHub and GitLab show in Markdown files, or in that
// of Graphviz. It depends on the model only, so the same source gives the same text.
package graph

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// Graph is a drawing without a language.
type Graph struct {
	nodes []*node
	edges []edge
}

// node is a directory, a type or an index.
type node struct {
	name  string // in the text of the graph
	shape shape
	lines []string // of the label, the first one being the title
}

type edge struct {
	from, to *node
	label    string // of a reference: the field; "" for others
}

// shape is what a node stands for.
type shape int

const (
	directory shape = iota
	partition
	record
	valueIndex
	uniqueIndex
)

// New returns the graph of all types of the packages.
func New(packages []*model.Package) *Graph {
	b := builder{graph: &Graph{}, directories: map[string]*node{}, records: map[*model.Record]*node{}}
	for _, p := range slices.SortedFunc(slices.Values(packages), func(x, y *model.Package) int { return cmp.Compare(x.Path, y.Path) }) {
		for _, r := range p.Records {
			title := r.Name
			if len(packages) > 1 {
				title = p.Name + "." + title
			}
			b.records[r] = b.addRecord(r, title)
		}
		b.addReferences(p)
	}
	return b.graph
}

// builder makes a graph.
type builder struct {
	graph       *Graph
	directories map[string]*node // by path
	records     map[*model.Record]*node
}

// addReferences adds an edge for each field that refers to a type of the package.
func (b *builder) addReferences(p *model.Package) {
	for _, r := range p.Records {
		for _, one := range r.References {
			b.graph.edges = append(b.graph.edges, edge{b.records[r], b.records[one.To], one.Label()})
		}
	}
}

func (b *builder) addNode(s shape, lines []string, parent *node) *node {
	letter := [...]string{directory: "d", partition: "d", record: "t", valueIndex: "i", uniqueIndex: "i"}[s]
	n := &node{name: fmt.Sprint(letter, len(b.graph.nodes)), shape: s, lines: lines}
	b.graph.nodes = append(b.graph.nodes, n)
	if parent != nil {
		b.graph.edges = append(b.graph.edges, edge{from: parent, to: n})
	}
	return n
}

// addRecord adds a type with its directory and its indexes, and returns the node of the type.
func (b *builder) addRecord(r *model.Record, title string) *node {
	if r.GoName != r.Name {
		title += " (in Go " + r.GoName + ")"
	}
	lines := append([]string{title}, recordLines(r)...)
	n := b.addNode(record, lines, b.addDirectory(r.Directory))
	for _, d := range r.Indexes {
		s := valueIndex
		if d.Unique {
			s = uniqueIndex
		}
		b.addNode(s, indexLines(d), n)
	}
	return n
}

// addDirectory adds the elements of a path that are not there yet, and returns the last.
func (b *builder) addDirectory(d model.Directory) (last *node) {
	path := ""
	for _, e := range d.Elements {
		line, s := e.Name, directory
		if e.Field != "" {
			line = "{" + e.Bound.Name + "}"
		}
		path += "/" + line + "(" + e.Layer + ")"
		if b.directories[path] == nil {
			lines := []string{line}
			if e.Layer != "" {
				lines, s = append(lines, e.Layer), partition
			}
			b.directories[path] = b.addNode(s, lines, last)
		}
		last = b.directories[path]
	}
	return last
}

// recordLines are the ID of a type and the fields that its directory and indexes use.
func recordLines(r *model.Record) []string {
	lines := []string{r.IDField.Name + " " + r.IDField.Kind.Text() + ", " + r.IDKind.Describe()}
	if r.Scatter.Shards != 0 {
		lines = append(lines, "scatter="+r.Scatter.Text())
	}
	add := func(name string, kind *model.Kind) {
		if line := name + " " + kind.Text(); name != r.IDField.Name && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, f := range r.Directory.Fields() {
		add(f.Name, f.Kind)
	}
	for _, d := range r.Indexes {
		for _, c := range componentsOf(d) {
			add(c.Name(), c.Steps[len(c.Steps)-1].Kind)
		}
		for _, f := range d.CoverFields {
			add(f.Name, f.Kind)
		}
	}
	return lines
}

// componentsOf are the fields that the entries of an index are made of.
func componentsOf(d *model.Index) []*model.Component {
	list := slices.Clone(d.Components)
	if d.Of != nil {
		list = append(list, d.Of)
	}
	return append(list, d.Where.Components()...)
}

// indexLines are the kind of an index, its fields and its options.
func indexLines(d *model.Index) []string {
	lines := []string{indexTitle(d)}
	add := func(set bool, line string) {
		if set {
			lines = append(lines, line)
		}
	}
	fields := fieldList(d)
	add(fields != "" && d.Kind.Tallies, "by "+fields)
	add(fields != "" && !d.Kind.Tallies, fields)
	add(d.Where != nil, "where "+d.Where.Text())
	add(d.Cover, "copies the record")
	add(len(d.CoverFields) > 0, "copies "+strings.Join(d.CoverNames(), ", "))
	add(d.Scatter.Shards != 0, "scatter="+d.Scatter.Text())
	return lines
}

// indexTitle is the kind of an index.
func indexTitle(d *model.Index) string {
	if d.Kind.Title != nil {
		return d.Kind.Title(d)
	}
	return d.Kind.Name
}

// fieldList are the fields of an index in the order of its keys.
func fieldList(d *model.Index) string {
	var names []string
	for _, c := range d.Components {
		name := c.Name()
		if c.Descending {
			name += " desc"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

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
		arrow := "-->"
		if e.label != "" {
			arrow = "-. \"" + mermaidText(e.label) + "\" .->"
		}
		fmt.Fprintf(&b, "    %s %s %s\n", e.from.name, arrow, e.to.name)
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
		attributes := ""
		if e.label != "" {
			attributes = " [style=dashed, constraint=false, label=\"" + dotText.Replace(visible(e.label)) + "\"]"
		}
		fmt.Fprintf(&b, "    %s -> %s%s;\n", e.from.name, e.to.name, attributes)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// The lines of a Markdown file between which a graph is.
const (
	Begin = "<!-- persistgen:graph -->"
	End   = "<!-- /persistgen:graph -->"
)

// MarkerError says that a Markdown file lacks the lines for a graph, or has too many.
type MarkerError struct {
	Line    int // from 1
	Message string
}

// Error returns the message.
func (e *MarkerError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Insert puts a text between the markers of a Markdown file, as a block of code in a
// language, and leaves all else as it is.
func Insert(markdown []byte, language string, text []byte) ([]byte, error) {
	lines := bytes.SplitAfter(markdown, []byte("\n"))
	begin, end, err := findMarkers(lines)
	if err != nil {
		return nil, err
	}
	block := fmt.Sprintf("```%s\n%s```\n", language, text)
	if bytes.HasSuffix(lines[begin], []byte("\r\n")) {
		block = string(bytes.ReplaceAll([]byte(block), []byte("\n"), []byte("\r\n")))
	}
	return bytes.Join([][]byte{bytes.Join(lines[:begin+1], nil), []byte(block), bytes.Join(lines[end:], nil)}, nil), nil
}

// findMarkers returns the lines of the markers, counted from 0.
func findMarkers(lines [][]byte) (begin, end int, err error) {
	begin, end = -1, -1
	for i, line := range lines {
		switch string(bytes.TrimSpace(line)) {
		case Begin:
			if begin >= 0 {
				return 0, 0, &MarkerError{i + 1, fmt.Sprintf("a second line %s; the first is line %d", Begin, begin+1)}
			}
			begin = i
		case End:
			if begin < 0 || end >= 0 {
				return 0, 0, &MarkerError{i + 1, fmt.Sprintf("the line %s ends no graph; remove it", End)}
			}
			end = i
		}
	}
	switch {
	case begin < 0:
		return 0, 0, &MarkerError{1, fmt.Sprintf("the file has no place for the graph: write the lines %s and %s where it is to be", Begin, End)}
	case end < 0:
		return 0, 0, &MarkerError{begin + 1, fmt.Sprintf("the end of the graph is missing: write the line %s after it", End)}
	}
	return begin, end, nil
}
