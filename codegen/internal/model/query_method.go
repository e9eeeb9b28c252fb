// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"
)

// methodKind is what a generated index method does.
type methodKind int

// The index methods.
const (
	MethodUnique      methodKind = iota // one record by all fields of a unique index
	MethodEqual                         // a query by the one field of an index
	MethodRange                         // equality on the first fields, a range on the next
	MethodOrdered                       // a range on the first field: all records in order
	MethodUniqueRow                     // as the four above, but of rows
	MethodEqualRows                     //
	MethodRangeRows                     //
	MethodOrderedRows                   //
	MethodCounts                        // the numbers of all groups
	MethodSum                           // the sum of a group
	MethodSums                          // the sums of all groups
	MethodMin                           // the least value of a group
	MethodMax                           // the greatest value of a group
	MethodCall                          // what Call says
	MethodSearch                        // a query by words
)

// rowKinds are the kinds of the methods that return rows where others return records.
var rowKinds = map[methodKind]methodKind{
	MethodUnique: MethodUniqueRow, MethodEqual: MethodEqualRows, MethodRange: MethodRangeRows, MethodOrdered: MethodOrderedRows,
}

// QueryMethod is one generated method of a store.
type QueryMethod struct {
	Name  string
	Kind  methodKind
	Equal []*Component // the parameters
	Next  *Component   // the field with the range, or the value that is returned; nil for others
	Cost  ReadCost

	// Of a MethodCall only.

	Call Call
	Doc  string // what follows the name in the comment, with [NotFound] for persistable.ErrNotFound
}

// Parameters are the fields that the method takes, in order.
func (m QueryMethod) Parameters() []*Component {
	if m.Call.Value == nil {
		return m.Equal
	}
	return append(slices.Clip(m.Equal), m.Call.Value)
}

// Call is a method that returns what a function of package persistimpl returns. That takes
// a context, the store, the number of the index and the key of the group, and then:
type Call struct {
	Function  string
	Value     *Component // a field that is packed on its own; nil for none
	Parameter string     // a further parameter of the method and of the function; "" for none
	Type      string     // its type
	Reserved  []string   // names that no field's parameter gets: Parameter, and those of the kind's other methods
	Result    Result     // with an error
}

// Result is what a call returns: a record, records, or a predeclared type.
type Result string

// The results that depend on the record.
const (
	ResultRecord  Result = "record"
	ResultRecords Result = "records"
)

// NotFound stands in a method's comment for the name of the error, which the imports decide.
const NotFound = "{ErrNotFound}"

// ReadCost is what one call of a method does on the key-value store, with the directory
// opened before and a record in one value.
type ReadCost struct {
	Rounds    string // round trips
	Reads     string // keys read
	Ranges    string // ranges read
	Conflicts string // what a concurrent write of would make the transaction retry
}

// rangeCost is the cost of a method that reads only entries.
func rangeCost(d *Index, conflicts string) ReadCost {
	return ReadCost{"1", "0", d.Scatter.Ranges(), conflicts}
}

// recordCost is the cost of a method that returns records.
func recordCost(d *Index, kind methodKind) ReadCost {
	switch {
	case kind == MethodUnique && d.Cover:
		return ReadCost{"1", "1", "0", "the unique key"}
	case kind == MethodUnique:
		return ReadCost{"2", "2", "0", "the unique key and the record's"}
	case d.Cover:
		return rangeCost(d, "the range scanned")
	}
	return ReadCost{"2", "n", d.Scatter.Ranges(), "the range scanned and the records' keys"}
}

// QueryMethods lists the methods of an index. One of kind Value on (A,B,C) has
//
//	ByABC(a, b)      a range on C
//	ByAThenBC(a)     a range on B
//	OrderedByABC()   a range on A
//
// a unique one ByABC(a, b, c) for one record and ByABThenC(a, b) for the range
// on C. One that covers chosen fields has each of these twice, the second for rows.
// The methods of an index with a condition in its marker end in Where and its title, or the fields of
// the condition.
func QueryMethods(d *Index) (list []QueryMethod) {
	if d.Kind.Methods != nil {
		list = d.Kind.Methods(d)
	}
	for i := range list {
		list[i].Name += whereSuffix(d)
	}
	if len(d.CoverFields) > 0 {
		list = append(list, rowMethods(d, list)...)
	}
	return list
}

// valueMethods lists the methods of an index that has an entry for each record.
func valueMethods(d *Index) (list []QueryMethod) {
	all := goFields(d.Components)
	n := len(d.Components)
	add := func(name string, kind methodKind, equal []*Component, next *Component) {
		list = append(list, QueryMethod{Name: name, Kind: kind, Equal: equal, Next: next, Cost: recordCost(d, kind)})
	}
	switch {
	case d.Unique:
		add("By"+all, MethodUnique, d.Components, nil)
	case n == 1:
		add("By"+all, MethodEqual, d.Components, nil)
	default:
		add("By"+all, MethodRange, d.Components[:n-1], d.Components[n-1])
	}
	for equal := n - 1; equal > 0; equal-- {
		if equal == n-1 && !d.Unique {
			continue
		}
		name := "By" + goFields(d.Components[:equal]) + "Then" + goFields(d.Components[equal:])
		add(name, MethodRange, d.Components[:equal], d.Components[equal])
	}
	add("OrderedBy"+all, MethodOrdered, nil, d.Components[0])
	return list
}

// rowMethods lists the same methods for rows.
func rowMethods(d *Index, records []QueryMethod) (list []QueryMethod) {
	for _, m := range records {
		kind, ok := rowKinds[m.Kind]
		if !ok {
			continue
		}
		m.Kind, m.Name, m.Cost = kind, m.Name+"Rows", rangeCost(d, "the range scanned")
		if kind == MethodUniqueRow {
			m.Name = m.Name[:len(m.Name)-1]
		}
		list = append(list, m)
	}
	return list
}

// extremeMethods lists the methods of Min and Max markers.
func extremeMethods(d *Index) (list []QueryMethod) {
	n := len(d.Components) - 1
	for _, x := range d.Extremes {
		kind := MethodMin
		if x.Greatest {
			kind = MethodMax
		}
		list = append(list, QueryMethod{
			Name: x.verb() + d.Components[n].GoName() + byGroup(d.Components[:n]), Kind: kind,
			Equal: d.Components[:n], Next: d.Components[n], Cost: rangeCost(d, "the first value found and those before it"),
		})
	}
	return list
}

// The costs of reading numbers.
var (
	oneTally   = ReadCost{"1", "1", "0", "all writes that change the number"}
	allTallies = ReadCost{"1", "0", "1", "all writes that change a number"}
)

// countMethods lists the methods of a Count.
func countMethods(d *Index) []QueryMethod {
	group := byGroup(d.Components)
	one := QueryMethod{
		Name: "Count" + group, Kind: MethodCall, Equal: d.Components, Cost: oneTally,
		Call: Call{Function: "Count", Result: "int64"}, Doc: fmt.Sprintf("returns the number of %s, in one read.", Scope(d.Components)),
	}
	if group != "" {
		return []QueryMethod{one, {Name: "Counts" + group, Kind: MethodCounts, Cost: allTallies}}
	}
	if d.Written == nil {
		one.Name = "CountAll"
	}
	return []QueryMethod{one}
}

// sumMethods lists the methods of a Sum.
func sumMethods(d *Index) []QueryMethod {
	name := d.Of.GoName() + byGroup(d.Components)
	list := []QueryMethod{{Name: "Sum" + name, Kind: MethodSum, Equal: d.Components, Next: d.Of, Cost: oneTally}}
	if len(d.Components) > 0 {
		list = append(list, QueryMethod{Name: "Sums" + name, Kind: MethodSums, Next: d.Of, Cost: allTallies})
	}
	return list
}

// Scope names the records of a group in a method's comment.
func Scope(group []*Component) string {
	if len(group) == 0 {
		return "all records"
	}
	return "the records with " + Values(group)
}

// Values names the parameters of a method in its comment: "that A, B and C", or, with a
// slice, "that A and that element of B".
func Values(components []*Component) string {
	again := ""
	if slices.ContainsFunc(components, func(c *Component) bool { return c.Slice }) {
		again = "that "
	}
	var b strings.Builder
	for i, c := range components {
		switch {
		case i == 0:
			b.WriteString("that ")
		case i == len(components)-1:
			b.WriteString(" and " + again)
		default:
			b.WriteString(", " + again)
		}
		if c.Slice {
			b.WriteString("element of ")
		}
		b.WriteString(c.GoName())
	}
	return b.String()
}

// byGroup is the part of a method's name that names a group.
func byGroup(group []*Component) string {
	if len(group) == 0 {
		return ""
	}
	return "By" + goFields(group)
}

// whereSuffix is what the names of the methods of an index with a condition in its marker end in.
func whereSuffix(d *Index) string {
	switch {
	case d.Written == nil:
		return ""
	case d.Title != "":
		return "Where" + Exported(d.Title)
	}
	return "Where" + goFields(d.Written.Components())
}
