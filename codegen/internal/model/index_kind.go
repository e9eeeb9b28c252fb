// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// IndexKind is what an index keeps. It has all that persistgen knows of the kind: a new
// kind is one of these, in a file of its own, and an element of [IndexKinds].
type IndexKind struct {
	Name   string // as package index and persist.lock have it; "" for an index of values
	Marker string // the type in package persistable that declares an index of this kind, if that is its only use

	// These three are for aggregates: the kinds with a marker that has the options by=,
	// where= and name=.

	Measure Measure // what its marker does with the field that it names
	// RefuseMeasure returns why a field cannot be that, or "": written is its name in the tag,
	// and typ its type. It is nil if each field that can be indexed will do.
	RefuseMeasure func(c *Component, written, typ string) string
	Tallies       bool // it keeps one number for each group

	Methods func(d *Index) []QueryMethod // those of the store, without what where= and cover= add

	// What it says to people: nil if the name of the kind and the fields are enough.

	Subject func(d *Index) string // of the index, in messages
	Title   func(d *Index) string // of the index, in a graph

	Writes WriteCost
	Remark string // what the legend of -explain says if there is an index of this kind
}

// Measure is what an aggregate does with the field that its marker names.
type Measure int

// The uses of the field.
const (
	NoMeasure   Measure = iota // the marker names none
	MeasureOf                  // it is apart from the group: Index.Of
	MeasureLast                // it is the last component, after the group
)

// WriteCost is what a write of a record costs for one entry of an index.
type WriteCost struct {
	Create, Remove int    // keys written
	Change         int    // at most, if the entry becomes another
	Levels         int    // ranges that each of them reads first, with one key; 0 for none
	Neighbours     string // what is read there: a concurrent write of it is a conflict
}

// Value keeps an entry for each record and value.
var Value = &IndexKind{
	Measure: MeasureLast, // of a Min or Max
	Methods: func(d *Index) []QueryMethod { return append(valueMethods(d), extremeMethods(d)...) },
	Subject: (*Index).FieldNames,
	Title: func(d *Index) string {
		if d.Unique {
			return "unique index"
		}
		return "index"
	},
	Writes: WriteCost{Create: 1, Remove: 1, Change: 2},
}

// tallyRemark is what the legend says of numbers.
const tallyRemark = "Counts and sums are written without being read, so writes of one group do not conflict.\n"

// Count keeps the number of records of each group. To add to a number and to remove it
// where it became zero are two writes.
var Count = &IndexKind{
	Name: "count", Marker: "Count", Tallies: true,
	Methods: countMethods,
	Subject: func(d *Index) string { return "count" + by(d.Components) },
	Writes:  WriteCost{Create: 1, Remove: 2, Change: 3},
	Remark:  tallyRemark,
}

// Sum keeps the sum of a field of each group.
var Sum = &IndexKind{
	Name: "sum", Marker: "Sum", Tallies: true,
	Measure: MeasureOf, RefuseMeasure: refuseSummand,
	Methods: sumMethods,
	Subject: func(d *Index) string { return "sum of " + d.Of.Name() + by(d.Components) },
	Title:   func(d *Index) string { return "sum of " + d.Of.Name() },
	Writes:  WriteCost{Create: 2, Remove: 2, Change: 4},
	Remark:  tallyRemark,
}

// refuseSummand returns why a field cannot be summed, or "".
func refuseSummand(c *Component, _, typ string) string {
	switch form := c.Element.Form; {
	case form == FormFloat32 || form == FormFloat64:
		return fmt.Sprintf("a sum of floats such as %s would depend on the order of the additions; keep the amount as an integer of its smallest unit", typ)
	case c.Slice || form != FormInt && form != FormUint && form != FormDuration:
		return fmt.Sprintf("%s cannot be summed; a Sum is of an integer or a time.Duration", typ)
	}
	return ""
}

// Version orders the records by their versions. A field of type Version declares it.
var Version = &IndexKind{
	Name:   "version",
	Title:  func(*Index) string { return "versions" },
	Writes: WriteCost{Create: 2, Remove: 3, Change: 3},
}

// IndexKinds are all kinds, in the order of the legend of -explain.
var IndexKinds = []*IndexKind{Value, Count, Sum, Rank, Version, Search}

// AggregateKind returns the kind that a marker declares. Min and Max declare an index of
// values, which others may share. It panics for a marker of no kind.
func AggregateKind(marker string) *IndexKind {
	for _, k := range IndexKinds {
		if k.Marker == marker {
			return k
		}
	}
	if marker != "Min" && marker != "Max" {
		panic("model: IndexKinds has no kind with the marker " + marker)
	}
	return Value
}
