// SPDX-License-Identifier: Apache-2.0

package model

// methodKind is what a generated index method does.
type methodKind int

// The index methods.
const (
	MethodUnique  methodKind = iota // one record by all fields of a unique index
	MethodEqual                     // a query by the one field of an index
	MethodRange                     // equality on the first fields, a range on the next
	MethodOrdered                   // a range on the first field: all records in order
)

// QueryMethod is one generated method of a store.
type QueryMethod struct {
	Name  string
	Kind  methodKind
	Equal []*Component // the parameters
	Next  *Component   // the field with the range; nil for methodUnique and methodEqual
}

// QueryMethods lists the methods of an index. One on (A,B,C) has
//
//	ByABC(a, b)      a range on C
//	ByAThenBC(a)     a range on B
//	OrderedByABC()   a range on A
//
// a unique one ByABC(a, b, c) for one record and ByABThenC(a, b) for the range
// on C.
func QueryMethods(d *Index) []QueryMethod {
	all := goFields(d.Components)
	n := len(d.Components)
	var list []QueryMethod
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
