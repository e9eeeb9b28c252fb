// SPDX-License-Identifier: Apache-2.0

package model

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
	MethodCount                         // the number of records of a group
	MethodCounts                        // the numbers of all groups
	MethodSum                           // the sum of a group
	MethodSums                          // the sums of all groups
	MethodMin                           // the least value of a group
	MethodMax                           // the greatest value of a group
	MethodRankOf                        // how many records are before a value
	MethodNth                           // the record at a rank
	MethodTop                           // the records with the greatest values
	MethodPercentile                    // the record at a percentile
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
}

// QueryMethods lists the methods of an index. One of kind Value on (A,B,C) has
//
//	ByABC(a, b)      a range on C
//	ByAThenBC(a)     a range on B
//	OrderedByABC()   a range on A
//
// a unique one ByABC(a, b, c) for one record and ByABThenC(a, b) for the range
// on C. One that covers chosen fields has each of these twice, the second for rows.
// The methods of a partial index end in Where and its title, or the fields of its
// predicate.
func QueryMethods(d *Index) (list []QueryMethod) {
	switch d.Kind {
	case Count, Sum:
		list = aggregateMethods(d)
	case Rank:
		list = rankMethods(d)
	case Value:
		list = append(valueMethods(d), extremeMethods(d)...)
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
	switch {
	case d.Unique:
		list = append(list, QueryMethod{"By" + all, MethodUnique, d.Components, nil})
	case n == 1:
		list = append(list, QueryMethod{"By" + all, MethodEqual, d.Components, nil})
	default:
		list = append(list, QueryMethod{"By" + all, MethodRange, d.Components[:n-1], d.Components[n-1]})
	}
	for equal := n - 1; equal > 0; equal-- {
		if equal == n-1 && !d.Unique {
			continue
		}
		name := "By" + goFields(d.Components[:equal]) + "Then" + goFields(d.Components[equal:])
		list = append(list, QueryMethod{name, MethodRange, d.Components[:equal], d.Components[equal]})
	}
	return append(list, QueryMethod{"OrderedBy" + all, MethodOrdered, nil, d.Components[0]})
}

// rowMethods lists the same methods for rows.
func rowMethods(d *Index, records []QueryMethod) (list []QueryMethod) {
	for _, m := range records {
		kind, ok := rowKinds[m.Kind]
		if !ok {
			continue
		}
		m.Kind, m.Name = kind, m.Name+"Rows"
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
		list = append(list, QueryMethod{x.verb() + d.Components[n].GoName() + byGroup(d.Components[:n]), kind, d.Components[:n], d.Components[n]})
	}
	return list
}

// aggregateMethods lists the methods of a Count or Sum.
func aggregateMethods(d *Index) []QueryMethod {
	name, one, all := "", MethodCount, MethodCounts
	if d.Kind == Sum {
		name, one, all = d.Of.GoName(), MethodSum, MethodSums
	}
	verb := map[methodKind]string{MethodCount: "Count", MethodCounts: "Counts", MethodSum: "Sum", MethodSums: "Sums"}
	if len(d.Components) > 0 {
		group := byGroup(d.Components)
		return []QueryMethod{{verb[one] + name + group, one, d.Components, d.Of}, {verb[all] + name + group, all, nil, d.Of}}
	}
	if d.Kind == Count && d.Where == nil {
		name = "All"
	}
	return []QueryMethod{{verb[one] + name, one, nil, d.Of}}
}

// rankMethods lists the methods of a Rank.
func rankMethods(d *Index) []QueryMethod {
	group, score := d.Group(), d.Components[len(d.Components)-1]
	name := score.GoName() + byGroup(group)
	return []QueryMethod{
		{"RankOf" + name, MethodRankOf, d.Components, nil},
		{"NthBy" + name, MethodNth, group, nil},
		{"TopBy" + name, MethodTop, group, nil},
		{"PercentileOf" + name, MethodPercentile, group, nil},
	}
}

// byGroup is the part of a method's name that names a group.
func byGroup(group []*Component) string {
	if len(group) == 0 {
		return ""
	}
	return "By" + goFields(group)
}

// whereSuffix is what the names of a partial index's methods end in.
func whereSuffix(d *Index) string {
	switch {
	case d.Where == nil:
		return ""
	case d.Title != "":
		return "Where" + Exported(d.Title)
	}
	return "Where" + goFields(d.Where.Components())
}
