// SPDX-License-Identifier: Apache-2.0

// Package cost prints what each generated method costs in reads, ranges and writes.
package cost

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// methodCost is what one call of a method costs.
type methodCost struct {
	method string
	model.ReadCost
	writes string // keys written or cleared
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.method, c.Rounds, c.Reads, c.Ranges, c.writes, c.Conflicts)
	}
	_ = w.Flush() // a bytes.Buffer does not fail
	if f := r.Deleted(); f != nil {
		fmt.Fprintf(out, "Delete sets %s, and the record stays: the store leaves it out, and so do the indexes without withdeleted; WithDeleted has it\n", f.GoName)
	}
	explainReferences(out, r)
}

// explainReferences says how to go along the references of a type, and back.
func explainReferences(out *bytes.Buffer, r *model.Record) {
	for _, one := range r.References {
		back := "no index: tag the field index for the way back"
		if method := one.Back(); method != "" {
			back = "the way back is " + method
		}
		switch o := one.Options(); {
		case o.Restrict:
			back += "; a record that is referred to cannot be deleted"
		case o.Cascade:
			back += "; the deletion of a record deletes those that refer to it, in two more rounds for each step"
		case o.Check:
			back += "; the record must exist when the field is set"
		}
		fmt.Fprintf(out, "%s refers to %s: %s\n", one.Field.GoName(), one.To.GoName, back)
	}
}

// costs lists the methods of a store with what they cost.
func costs(r *model.Record) []methodCost {
	list := append(newRecordWrites(r).methods(),
		reading("Get", model.ReadCost{Rounds: "1", Reads: "1", Ranges: "0", Conflicts: "the record's key"}),
		reading("GetMany", model.ReadCost{Rounds: "1", Reads: "n", Ranges: "0", Conflicts: "the records' keys"}),
		reading("Exists", model.ReadCost{Rounds: "1", Reads: "1", Ranges: "0", Conflicts: "the record's key"}),
		reading("Scan", model.ReadCost{Rounds: "1", Reads: "0", Ranges: r.Scatter.Ranges(), Conflicts: "the range of IDs"}))
	for _, d := range r.Indexes {
		for _, m := range model.QueryMethods(d) {
			list = append(list, reading(m.Name, m.Cost))
		}
	}
	for _, one := range r.References {
		list = append(list, reading(one.Method(), one.Cost()))
	}
	return list
}

// reading is the cost of a method that only reads.
func reading(method string, c model.ReadCost) methodCost { return methodCost{method, c, "0"} }

// remarks are what the legend says of indexes that not all types have.
func remarks(packages []*model.Package) string {
	seen := map[string]bool{}
	var b strings.Builder
	write := func(remark string) {
		if !seen[remark] {
			seen[remark] = true
			b.WriteString(remark)
		}
	}
	var indexes []*model.Index
	for _, p := range packages {
		for _, r := range p.Records {
			indexes = append(indexes, r.Indexes...)
		}
	}
	if slices.ContainsFunc(indexes, func(d *model.Index) bool { return d.Where != nil }) {
		write("A record that does not fulfil the condition of an index writes nothing there.\n")
	}
	if slices.ContainsFunc(packages, func(p *model.Package) bool { return slices.ContainsFunc(p.Records, hasBlob) }) {
		write("A write that gives a field another content (persistable.Blob) needs one round and two reads more, each record of a batch its own.\n")
	}
	for _, kind := range model.IndexKinds {
		if slices.ContainsFunc(indexes, func(d *model.Index) bool { return d.Kind == kind }) {
			write(kind.Remark)
		}
	}
	return b.String()
}

// hasBlob reports whether a record has a field that refers to a content.
func hasBlob(r *model.Record) bool {
	return slices.ContainsFunc(r.Message.Fields, func(f *model.Field) bool { return f.Kind.Form == model.FormBlob })
}

// recordWrites are how many keys the writes of a record read and write.
type recordWrites struct {
	create, change, remove count    // keys written; change is the most
	unique                 count    // the record's key and its unique keys
	reading, levels        count    // keys and ranges that a write reads first, of indexes with neighbours
	neighbours             []string // what they are
	referred               count    // records to which a write checks that it may refer
	referrers              count    // ranges in which a deletion looks for those that refer to the record
	before                 int      // rounds before, with the record and those that are deleted with it
}

func newRecordWrites(r *model.Record) recordWrites {
	c := recordWrites{create: newCount(1), change: newCount(1), remove: newCount(1), unique: newCount(1)}
	for _, d := range r.Indexes {
		writes := d.Kind.Writes
		c.create.add(d, writes.Create)
		c.change.add(d, writes.Change)
		c.remove.add(d, deletionWrites(r, d))
		if d.Unique {
			c.unique.add(d, 1)
		}
		if writes.Levels > 0 {
			c.reading.add(d, 1)
			c.levels.add(d, writes.Levels)
			c.neighbours = append(c.neighbours, writes.Neighbours)
		}
	}
	for _, one := range r.References {
		switch {
		case one.IsChecked() && one.Field.Slice:
			c.referred.addSlice(one.Field.Name(), 1)
		case one.IsChecked():
			c.referred.fixed++
		}
	}
	cascades, others := false, false
	for _, one := range r.Referrers {
		if one.LooksBack() {
			c.referrers.fixed++
			cascades, others = cascades || one.Options().Cascade, others || !one.Options().Cascade
		}
	}
	if cascades {
		c.before = 1
	}
	if cascades && others {
		c.before = 2
	}
	slices.Sort(c.neighbours)
	c.neighbours = slices.Compact(c.neighbours)
	return c
}

// deletionWrites is how many keys of an index a deletion writes: one that only marks the record leaves the
// entries of an index that has deleted records, unless they have the mark.
func deletionWrites(r *model.Record, d *model.Index) int {
	if !d.HasDeleted(r) {
		return d.Kind.Writes.Remove
	}
	isMark := func(one *model.Component) bool { return len(one.Steps) == 1 && one.Steps[0] == r.Deleted() }
	switch {
	case d.Kind == model.Version || slices.ContainsFunc(d.Components, isMark):
		return d.Kind.Writes.Change
	case d.Cover:
		return 1
	}
	return 0
}

// methods lists the methods that write. Where an index is read first, a write reads its
// element, and the neighbours on all levels.
func (c recordWrites) methods() []methodCost {
	key, rounds := "the record's key", "1"
	keys := key
	if c.unique.String() != "1" {
		keys += " and its unique keys"
	}
	if len(c.neighbours) > 0 {
		rounds = "2"
	}
	for _, neighbours := range c.neighbours {
		key, keys = key+" and "+neighbours, keys+" and "+neighbours
	}
	deletion, deletionRounds := key, rounds
	if c.before > 0 {
		deletionRounds = fmt.Sprint(min(1, len(c.neighbours)) + 1 + c.before)
	}
	if len(c.referred.slices) > 0 || c.referred.fixed > 0 {
		keys += " and those of the records it refers to"
	}
	if c.referrers.fixed > 0 {
		deletion += " and the entries of those that refer to it"
	}
	ranges := c.levels.String()
	create := model.ReadCost{Rounds: rounds, Reads: c.unique.plus(c.referred, 1).plus(c.reading, 1).String(), Ranges: ranges, Conflicts: keys}
	save := model.ReadCost{
		Rounds: span("1", rounds), Reads: span(c.unique.String(), c.unique.plus(c.referred, 1).plus(c.reading, 2).String()),
		Ranges: span("0", count{}.plus(c.levels, 2).String()), Conflicts: keys,
	}
	return []methodCost{
		{"Create", create, c.create.String()},
		{"CreateWithID", create, c.create.String()},
		{"Save", save, "1 to " + c.change.String()},
		{"Delete", model.ReadCost{Rounds: deletionRounds, Reads: newCount(1).plus(c.reading, 1).String(), Ranges: c.levels.plus(c.referrers, 1).String(), Conflicts: deletion}, c.remove.String()},
	}
}

// span writes a number, or the least and the greatest.
func span(least, most string) string {
	if least == most {
		return least
	}
	return least + " to " + most
}

// count is a number of keys: some always, some per element of a slice.
type count struct {
	fixed  int
	slices []sliceCount
}

// sliceCount is how many keys there are for each element of a slice.
type sliceCount struct {
	name string
	n    int
}

func newCount(fixed int) count { return count{fixed: fixed} }

// add counts the writes of one record in an index, of which each entry has n.
func (c *count) add(d *model.Index, n int) {
	if n == 0 {
		return
	}
	if d.Kind == model.Search {
		c.addSlice("words of "+d.FieldNames(), n)
		return
	}
	for _, one := range d.Components {
		if one.Slice {
			c.addSlice(one.Name(), n)
			return
		}
	}
	c.fixed += n
}

func (c *count) addSlice(name string, n int) {
	i := slices.IndexFunc(c.slices, func(s sliceCount) bool { return s.name == name })
	if i < 0 {
		c.slices = append(c.slices, sliceCount{name, n})
		return
	}
	c.slices[i].n += n
}

// plus returns the count with another one more, so many times.
func (c count) plus(more count, times int) count {
	c.fixed += times * more.fixed
	c.slices = slices.Clone(c.slices)
	for _, s := range more.slices {
		c.addSlice(s.name, times*s.n)
	}
	return c
}

func (c count) String() string {
	var parts []string
	if c.fixed > 0 || len(c.slices) == 0 {
		parts = append(parts, fmt.Sprint(c.fixed))
	}
	for _, s := range c.slices {
		factor := ""
		if s.n > 1 {
			factor = fmt.Sprintf("%d*", s.n)
		}
		parts = append(parts, fmt.Sprintf("%slen(%s)", factor, s.name))
	}
	return strings.Join(parts, "+")
}
