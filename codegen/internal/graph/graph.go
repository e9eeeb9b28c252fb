// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

type edge struct{ from, to *node }

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
	b := builder{graph: &Graph{}, directories: map[string]*node{}}
	for _, p := range slices.SortedFunc(slices.Values(packages), func(x, y *model.Package) int { return cmp.Compare(x.Path, y.Path) }) {
		for _, r := range p.Records {
			title := r.Name
			if len(packages) > 1 {
				title = p.Name + "." + title
			}
			b.addRecord(r, title)
		}
	}
	return b.graph
}

// builder makes a graph.
type builder struct {
	graph       *Graph
	directories map[string]*node // by path
}

func (b *builder) addNode(s shape, lines []string, parent *node) *node {
	letter := [...]string{directory: "d", partition: "d", record: "t", valueIndex: "i", uniqueIndex: "i"}[s]
	n := &node{name: fmt.Sprint(letter, len(b.graph.nodes)), shape: s, lines: lines}
	b.graph.nodes = append(b.graph.nodes, n)
	if parent != nil {
		b.graph.edges = append(b.graph.edges, edge{parent, n})
	}
	return n
}

// addRecord adds a type with its directory and its indexes.
func (b *builder) addRecord(r *model.Record, title string) {
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
	add(fields != "" && (d.Kind == model.Count || d.Kind == model.Sum), "by "+fields)
	add(fields != "" && d.Kind != model.Count && d.Kind != model.Sum, fields)
	add(d.Where != nil, "where "+d.Where.Text())
	add(d.Cover, "copies the record")
	add(len(d.CoverFields) > 0, "copies "+strings.Join(d.CoverNames(), ", "))
	add(d.Scatter.Shards != 0, "scatter="+d.Scatter.Text())
	return lines
}

// indexTitle is the kind of an index.
func indexTitle(d *model.Index) string {
	switch {
	case d.Unique:
		return "unique index"
	case d.Kind == model.Value:
		return "index"
	case d.Kind == model.Sum:
		return "sum of " + d.Of.Name()
	case d.Kind == model.Version:
		return "versions"
	}
	return string(d.Kind)
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
