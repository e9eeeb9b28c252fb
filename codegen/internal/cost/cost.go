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

// entryWrites are how many keys one entry of an index writes.
type entryWrites struct {
	create, remove int
	change         int // at most, if the entry becomes another
}

// writesOf says so of each kind. To add to a number and to remove it where it became zero
// are two writes. Five levels of a rank have a count for an element, and one the element.
// A write reads the element's neighbours on these levels, and the element itself.
var writesOf = map[model.IndexKind]entryWrites{
	model.Value:   {1, 1, 2},
	model.Count:   {1, 2, 3},
	model.Sum:     {2, 2, 4},
	model.Rank:    {6, 11, 17},
	model.Version: {2, 3, 3},
}

// costOf is the cost of one index method.
func costOf(d *model.Index, m model.QueryMethod) methodCost {
	ranges := d.Scatter.Ranges()
	switch m.Kind {
	case model.MethodUnique, model.MethodEqual, model.MethodRange, model.MethodOrdered:
		return costOfRecords(d, m)
	case model.MethodCount, model.MethodSum:
		return methodCost{m.Name, "1", "1", "0", "0", "all writes that change the number"}
	case model.MethodCounts, model.MethodSums:
		return methodCost{m.Name, "1", "0", "1", "0", "all writes that change a number"}
	case model.MethodMin, model.MethodMax:
		return methodCost{m.Name, "1", "0", ranges, "0", "the first value found and those before it"}
	case model.MethodRankOf:
		return methodCost{m.Name, "1", "0", "6", "0", "what is before the value"}
	case model.MethodNth:
		return methodCost{m.Name, "2 to 7", "1", "6 to 12", "0", "what is before the record"}
	case model.MethodPercentile:
		return methodCost{m.Name, "3 to 8", "1", "7 to 18", "0", "the whole group"}
	case model.MethodTop:
		return methodCost{m.Name, "2", "n", "1", "0", "the range scanned and the records' keys"}
	default:
		return methodCost{m.Name, "1", "0", ranges, "0", "the range scanned"}
	}
}

// costOfRecords is the cost of a method that returns records.
func costOfRecords(d *model.Index, m model.QueryMethod) methodCost {
	switch {
	case m.Kind == model.MethodUnique && d.Cover:
		return methodCost{m.Name, "1", "1", "0", "0", "the unique key"}
	case m.Kind == model.MethodUnique:
		return methodCost{m.Name, "2", "2", "0", "0", "the unique key and the record's"}
	case d.Cover:
		return methodCost{m.Name, "1", "0", d.Scatter.Ranges(), "0", "the range scanned"}
	}
	return methodCost{m.Name, "2", "n", d.Scatter.Ranges(), "0", "the range scanned and the records' keys"}
}

// remarks are what the legend says of kinds that not all types have.
func remarks(packages []*model.Package) string {
	seen := map[string]bool{}
	for _, p := range packages {
		for _, r := range p.Records {
			for _, d := range r.Indexes {
				seen["where"] = seen["where"] || d.Where != nil
				seen["number"] = seen["number"] || d.Kind == model.Count || d.Kind == model.Sum
				seen[string(d.Kind)] = true
			}
		}
	}
	var b strings.Builder
	for _, one := range []struct{ kind, text string }{
		{"where", "A record that does not fulfil the condition of an index writes nothing there.\n"},
		{"number", "Counts and sums are written without being read, so writes of one group do not conflict.\n"},
		{string(model.Rank), "A rank adds a round to a write that changes it. One value in sixteen writes more keys.\n"},
	} {
		if seen[one.kind] {
			b.WriteString(one.text)
		}
	}
	return b.String()
}

// rankLevels is how many levels of a rank a write looks at, each with a range of its own.
const rankLevels = 5

// recordWrites are how many keys the writes of a record read and write.
type recordWrites struct {
	create, change, remove count // keys written; change is the most
	unique                 count // the record's key and its unique keys
	ranks                  int
}

func newRecordWrites(r *model.Record) recordWrites {
	c := recordWrites{create: newCount(1), change: newCount(1), remove: newCount(1), unique: newCount(1)}
	for _, d := range r.Indexes {
		writes := writesOf[d.Kind]
		c.create.add(d, writes.create)
		c.change.add(d, writes.change)
		c.remove.add(d, writes.remove)
		if d.Unique {
			c.unique.add(d, 1)
		}
		if d.Kind == model.Rank {
			c.ranks++
		}
	}
	return c
}

// methods lists the methods that write. A write of a rank reads its element, and its
// neighbours on all levels.
func (c recordWrites) methods() []methodCost {
	key, rounds := "the record's key", "1"
	keys := key
	if c.unique.String() != "1" {
		keys += " and its unique keys"
	}
	if c.ranks > 0 {
		rounds, key, keys = "2", key+" and its neighbours by rank", keys+" and its neighbours by rank"
	}
	ranges := fmt.Sprint(rankLevels * c.ranks)
	create := []string{rounds, c.unique.plus(c.ranks).String(), ranges, c.create.String(), keys}
	return []methodCost{
		{"Create", create[0], create[1], create[2], create[3], create[4]},
		{"CreateWithID", create[0], create[1], create[2], create[3], create[4]},
		{
			"Save", span("1", rounds), span(c.unique.String(), c.unique.plus(2*c.ranks).String()),
			span("0", fmt.Sprint(2*rankLevels*c.ranks)), "1 to " + c.change.String(), keys,
		},
		{"Delete", rounds, fmt.Sprint(1 + c.ranks), ranges, c.remove.String(), key},
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

// plus returns the count with n keys more.
func (c count) plus(n int) count {
	c.fixed += n
	return c
}

func (c count) String() string {
	text := fmt.Sprint(c.fixed)
	for _, s := range c.slices {
		factor := ""
		if s.n > 1 {
			factor = fmt.Sprintf("%d*", s.n)
		}
		text += fmt.Sprintf("+%slen(%s)", factor, s.name)
	}
	return text
}
