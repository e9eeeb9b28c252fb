// SPDX-License-Identifier: Apache-2.0

package codegen

// methodKind is what a generated index method does.
type methodKind int

// The index methods.
const (
	methodUnique  methodKind = iota // one record by all fields of a unique index
	methodEqual                     // a query by the one field of an index
	methodRange                     // equality on the first fields, a range on the next
	methodOrdered                   // a range on the first field: all records in order
)

// indexMethod is one generated method of a store.
type indexMethod struct {
	name  string
	kind  methodKind
	equal []*component // the parameters
	next  *component   // the field with the range; nil for methodUnique and methodEqual
}

// indexMethods lists the methods of an index. One on (A,B,C) has
//
//	ByABC(a, b)      a range on C
//	ByAThenBC(a)     a range on B
//	OrderedByABC()   a range on A
//
// a unique one ByABC(a, b, c) for one record and ByABThenC(a, b) for the range
// on C.
func indexMethods(d *indexDef) []indexMethod {
	all := goFields(d.components)
	n := len(d.components)
	var list []indexMethod
	switch {
	case d.unique:
		list = append(list, indexMethod{"By" + all, methodUnique, d.components, nil})
	case n == 1:
		list = append(list, indexMethod{"By" + all, methodEqual, d.components, nil})
	default:
		list = append(list, indexMethod{"By" + all, methodRange, d.components[:n-1], d.components[n-1]})
	}
	for equal := n - 1; equal > 0; equal-- {
		if equal == n-1 && !d.unique {
			continue
		}
		name := "By" + goFields(d.components[:equal]) + "Then" + goFields(d.components[equal:])
		list = append(list, indexMethod{name, methodRange, d.components[:equal], d.components[equal]})
	}
	return append(list, indexMethod{"OrderedBy" + all, methodOrdered, nil, d.components[0]})
}
