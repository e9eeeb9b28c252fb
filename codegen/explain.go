// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// cost is what one call of a method does on the key-value store, with the
// directory opened before and a record in one value.
type cost struct {
	method    string
	rounds    string // round trips for reading; a commit is one more
	reads     string // keys read
	ranges    string // ranges read
	writes    string // keys written or cleared
	conflicts string // what a concurrent write of would make the transaction retry
}

// explain prints the cost of every generated method.
func explain(w io.Writer, packages []*pkg) error {
	var out bytes.Buffer
	out.WriteString(explainLegend)
	for _, p := range packages {
		for _, one := range p.records {
			explainRecord(&out, p, one)
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("persistgen: print the explanation: %w", err)
	}
	return nil
}

// explainLegend stands above the tables.
const explainLegend = `rounds: round trips for reading; a transaction that writes has one more, its commit.
n: records asked for or found. conflicts: what makes a transaction retry if others
write it; single operations that only read never do. The ranges of a scattered type or
index are its shards: they are read side by side and merged.
`

func explainRecord(out *bytes.Buffer, p *pkg, r *record) {
	fmt.Fprintf(out, "\n%s.%s in %s%s\n", p.name, r.goName, r.directory, r.scatter.remark())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "method\trounds\treads\tranges\twrites\tconflicts")
	for _, c := range costs(r) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.method, c.rounds, c.reads, c.ranges, c.writes, c.conflicts)
	}
	_ = w.Flush() // a bytes.Buffer does not fail
}

// costs lists the methods of a store with what they cost.
func costs(r *record) []cost {
	entries, unique := newCount(1), newCount(1)
	for _, d := range r.indexes {
		entries.add(d)
		if d.unique {
			unique.add(d)
		}
	}
	keys := "the record's key"
	if unique.String() != "1" {
		keys += " and its unique keys"
	}
	changed := count{fixed: 1 + 2*(entries.fixed-1)}
	for _, one := range entries.slices {
		changed.slices = append(changed.slices, "2*"+one)
	}
	list := []cost{
		{"Create", "1", unique.String(), "0", entries.String(), keys},
		{"CreateWithID", "1", unique.String(), "0", entries.String(), keys},
		{"Save", "1", unique.String(), "0", "1 to " + changed.String(), keys},
		{"Delete", "1", "1", "0", entries.String(), "the record's key"},
		{"Get", "1", "1", "0", "0", "the record's key"},
		{"GetMany", "1", "n", "0", "0", "the records' keys"},
		{"Exists", "1", "1", "0", "0", "the record's key"},
		{"Scan", "1", "0", r.scatter.ranges(), "0", "the range of IDs"},
	}
	for _, d := range r.indexes {
		for _, m := range indexMethods(d) {
			list = append(list, methodCost(d, m))
		}
	}
	return list
}

// methodCost is the cost of one index method.
func methodCost(d *indexDef, m indexMethod) cost {
	switch {
	case m.kind == methodUnique && d.cover:
		return cost{m.name, "1", "1", "0", "0", "the unique key"}
	case m.kind == methodUnique:
		return cost{m.name, "2", "2", "0", "0", "the unique key and the record's"}
	case d.cover:
		return cost{m.name, "1", "0", d.scatter.ranges(), "0", "the range scanned"}
	}
	return cost{m.name, "2", "n", d.scatter.ranges(), "0", "the range scanned and the records' keys"}
}

// count is a number of keys: some always, some per element of a slice.
type count struct {
	fixed  int
	slices []string
}

func newCount(fixed int) count { return count{fixed: fixed} }

// add counts the entries of one record in an index.
func (c *count) add(d *indexDef) {
	for _, one := range d.components {
		if one.slice {
			c.slices = append(c.slices, "len("+one.name()+")")
			return
		}
	}
	c.fixed++
}

func (c count) String() string {
	parts := append([]string{fmt.Sprint(c.fixed)}, c.slices...)
	return strings.Join(parts, "+")
}
