// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// methodCost is what one call of a method does on the key-value store, with the
// directory opened before and a record in one value.
type methodCost struct {
	method    string
	rounds    string // round trips for reading; a commit is one more
	reads     string // keys read
	ranges    string // ranges read
	writes    string // keys written or cleared
	conflicts string // what a concurrent write of would make the transaction retry
}

// Explain prints the cost of every generated method.
func Explain(w io.Writer, packages []*model.Package) error {
	var out bytes.Buffer
	out.WriteString(explainLegend + remarks(packages))
	for _, p := range packages {
		for _, one := range p.Records {
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

func explainRecord(out *bytes.Buffer, p *model.Package, r *model.Record) {
	fmt.Fprintf(out, "\n%s.%s in %s%s\n", p.Name, r.GoName, r.Directory, r.Scatter.Remark())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "method\trounds\treads\tranges\twrites\tconflicts")
	for _, c := range costs(r) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.method, c.rounds, c.reads, c.ranges, c.writes, c.conflicts)
	}
	_ = w.Flush() // a bytes.Buffer does not fail
}

// costs lists the methods of a store with what they cost.
func costs(r *model.Record) []methodCost {
	list := append(newRecordWrites(r).methods(),
		methodCost{"Get", "1", "1", "0", "0", "the record's key"},
		methodCost{"GetMany", "1", "n", "0", "0", "the records' keys"},
		methodCost{"Exists", "1", "1", "0", "0", "the record's key"},
		methodCost{"Scan", "1", "0", r.Scatter.Ranges(), "0", "the range of IDs"})
	for _, d := range r.Indexes {
		for _, m := range model.QueryMethods(d) {
			list = append(list, costOf(d, m))
		}
	}
	return list
}
