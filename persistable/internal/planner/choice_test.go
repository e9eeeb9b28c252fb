// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// domain is the values of a field, as text and as tuple elements in order. Values that
// are not the first or the last are between others, so that a range and its neighbour
// differ.
type domain struct {
	texts    []string
	elements [][]byte
}

func (d *domain) add(text string, element []byte) {
	d.texts, d.elements = append(d.texts, text), append(d.elements, element)
}

func domains() map[string]domain {
	var integers, strings, bools domain
	for _, d := range []*domain{&integers, &strings, &bools} {
		d.add("null", tuple.AppendNil(nil))
	}
	for n := int64(-2); n < 6; n++ {
		integers.add(fmt.Sprint(n), tuple.AppendInt(nil, n))
	}
	integers.add("18446744073709551615", tuple.AppendUint(nil, 1<<64-1))
	for _, s := range []string{"", "a", "a\x00", "b and N=1", "c"} {
		strings.add(fmt.Sprintf("%q", s), tuple.AppendString(nil, s))
	}
	bools.add("false", tuple.AppendBool(nil, false))
	bools.add("true", tuple.AppendBool(nil, true))
	return map[string]domain{"integers": integers, "strings": strings, "bools": bools}
}

// fulfils reports whether a value fulfils a comparison with a constant, as an index with that
// predicate says: null fulfils those with null only.
func fulfils(value []byte, operator string, constant []byte) bool {
	order := bytes.Compare(value, constant)
	if tuple.IsNil(constant) {
		return (order == 0) == (operator == "=")
	}
	if tuple.IsNil(value) {
		return false
	}
	return map[string]bool{"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]
}

// admits reports whether a value compares so with the clause's.
func admits(c erased.Clause, value []byte) bool {
	if c.Comparison == erased.Prefix {
		return bytes.HasPrefix(value, c.Value)
	}
	order := bytes.Compare(value, c.Value)
	return map[erased.Comparison]bool{
		erased.Equal: order == 0, erased.From: order >= 0, erased.After: order > 0, erased.To: order <= 0, erased.Before: order < 0,
	}[c.Comparison]
}

// TestImplied compares, for each predicate of one comparison and each clause, whether the
// clause implies the predicate, and whether the predicate says what the clause does, with
// what all values of the field say.
func TestImplied(t *testing.T) {
	for name, d := range domains() {
		for at, constant := range d.elements {
			for _, operator := range operators {
				if at == 0 && operator != "=" && operator != "!=" {
					continue // null has no order
				}
				predicate := "F" + operator + d.texts[at]
				for value, element := range d.elements {
					for c := erased.Equal; c <= erased.Prefix; c++ {
						clause := erased.Clause{Field: "F", Comparison: c, Value: element}
						if c == erased.Prefix {
							clause.Value = erased.PrefixOf(element)
						}
						if c == erased.NotEqual || c == erased.Prefix && clause.Value == nil {
							continue
						}
						checkImplied(t, d, predicate, clause, fmt.Sprintf("%s: %s by comparison %d with %s", name, predicate, c, d.texts[value]),
							func(v []byte) bool { return fulfils(v, operator, constant) })
					}
				}
			}
		}
	}
}

// checkImplied checks what is said of a predicate of a field and a clause on it.
func checkImplied(t *testing.T, d domain, predicate string, clause erased.Clause, text string, holds func([]byte) bool) {
	t.Helper()
	implied, said := true, true
	for _, v := range d.elements {
		implied = implied && (!admits(clause, v) || holds(v))
		said = said && (!holds(v) || admits(clause, v))
	}
	is := isImplied(predicate, erased.Conjunction{clause}, nil)
	if is && !implied {
		t.Errorf("%s: it is not implied", text)
	}
	if isSaid(predicate, &clause) && !said {
		t.Errorf("%s: it does not say that", text)
	}
	if isImplied(predicate, erased.Conjunction{{Field: "G", Comparison: clause.Comparison, Value: clause.Value}}, nil) {
		t.Errorf("%s: a clause on another field implies it", text)
	}
}

// TestImpliedIsRecognized lists what must not be missed, or a partial index is not used.
func TestImpliedIsRecognized(t *testing.T) {
	number, text := tuple.AppendInt(nil, 3), tuple.AppendString(nil, "b and N=1")
	null := tuple.AppendNil(nil)
	for _, c := range []struct {
		predicate string
		clause    erased.Clause
		said      bool
	}{
		{"F=3", erased.Clause{Comparison: erased.Equal, Value: number}, true},
		{"F!=3", erased.Clause{Comparison: erased.Equal, Value: tuple.AppendInt(nil, 2)}, false},
		{"F!=3", erased.Clause{Comparison: erased.After, Value: number}, false},
		{"F!=3", erased.Clause{Comparison: erased.From, Value: tuple.AppendInt(nil, 4)}, false},
		{"F>3", erased.Clause{Comparison: erased.After, Value: number}, true},
		{"F>2", erased.Clause{Comparison: erased.From, Value: number}, false},
		{"F>2", erased.Clause{Comparison: erased.Equal, Value: number}, false},
		{"F>=3", erased.Clause{Comparison: erased.From, Value: number}, true},
		{"F>=3", erased.Clause{Comparison: erased.After, Value: number}, false},
		{"F>=3", erased.Clause{Comparison: erased.Equal, Value: number}, false},
		{"F<4", erased.Clause{Comparison: erased.Equal, Value: number}, false},
		{"F<=3", erased.Clause{Comparison: erased.Equal, Value: number}, false},
		{"F=null", erased.Clause{Comparison: erased.Equal, Value: null}, true},
		{"F!=null", erased.Clause{Comparison: erased.Equal, Value: text}, false},
		{"F!=null", erased.Clause{Comparison: erased.After, Value: null}, false},
		{"F!=null", erased.Clause{Comparison: erased.From, Value: text}, false},
		{`F="b and N=1"`, erased.Clause{Comparison: erased.Equal, Value: text}, true},
		{"F=true", erased.Clause{Comparison: erased.Equal, Value: tuple.AppendBool(nil, true)}, true},
		{`F!="a"`, erased.Clause{Comparison: erased.Prefix, Value: erased.PrefixOf(text)}, false},
		{`F<"c"`, erased.Clause{Comparison: erased.Prefix, Value: erased.PrefixOf(text)}, false},
		{`F>="b and N=1"`, erased.Clause{Comparison: erased.Prefix, Value: erased.PrefixOf(text)}, false},
		{"F!=null", erased.Clause{Comparison: erased.Prefix, Value: erased.PrefixOf(text)}, false},
		{"F=18446744073709551615", erased.Clause{Comparison: erased.Equal, Value: tuple.AppendUint(nil, 1<<64-1)}, true},
	} {
		c.clause.Field = "F"
		if !isImplied(c.predicate, erased.Conjunction{c.clause}, nil) || isSaid(c.predicate, &c.clause) != c.said {
			t.Errorf("%s by comparison %d with %q: implied %t, said %t", c.predicate, c.clause.Comparison, c.clause.Value,
				isImplied(c.predicate, erased.Conjunction{c.clause}, nil), isSaid(c.predicate, &c.clause))
		}
	}
}

// TestSliceBehindGenericKind: the kind of the field before a slice has a comma of its own.
// The range on the slice leads to a record once for each element, and two values of the slice
// do not exclude each other.
func TestSliceBehindGenericKind(t *testing.T) {
	r := Request{CanFilter: true, Indexes: []index.Definition{{
		Name: "T_P_Tags", Fields: []string{"P", "Tags"}, Signature: "text(Pair[A,B]),[]string", Sparse: []string{"Tags"},
	}}}
	p := erased.Clause{Field: "P", Comparison: erased.Equal, Value: tuple.AppendString(nil, "p")}
	tag := func(c erased.Comparison, v string) erased.Conjunction {
		return erased.Conjunction{p, {Field: "Tags", Comparison: c, Value: tuple.AppendString(nil, v)}}
	}
	r.Alternatives = []erased.Conjunction{tag(erased.From, "a")}
	if s, reason := Search(r); s == nil || len(s.Lanes) != 1 || s.Lanes[0][0].Once != "Tags" {
		t.Errorf("the range on the slice: %+v, %s", s, reason)
	}
	r.Alternatives = []erased.Conjunction{tag(erased.Equal, "a"), tag(erased.Equal, "b")}
	if s, reason := Search(r); s == nil || s.Disjoint {
		t.Errorf("two values of the slice: %+v, %s", s, reason)
	}
}

// TestImpliedConjunction takes the clauses of a predicate of three comparisons away one by
// one: each is needed, whatever the order.
func TestImpliedConjunction(t *testing.T) {
	predicate := `A="b and N=1" and B>=0 and C!=null`
	clauses := erased.Conjunction{
		{Field: "C", Comparison: erased.Equal, Value: tuple.AppendInt(nil, 1)},
		{Field: "A", Comparison: erased.Equal, Value: tuple.AppendString(nil, "b and N=1")},
		{Field: "D", Comparison: erased.Equal, Value: tuple.AppendInt(nil, 1)},
		{Field: "B", Comparison: erased.After, Value: tuple.AppendInt(nil, 0)},
	}
	if !isImplied(predicate, clauses, nil) || !isImplied("", clauses, nil) {
		t.Error("the clauses imply the predicate")
	}
	for i, c := range clauses {
		if left := slices.Delete(slices.Clone(clauses), i, i+1); isImplied(predicate, left, nil) != (c.Field == "D") {
			t.Errorf("without the clause on %s: %t", c.Field, c.Field != "D")
		}
	}
	for _, damaged := range []string{"A", "A=", "=3", "A~3", `C=1 or A="b and N=1"`} {
		if isImplied(damaged, clauses, nil) {
			t.Errorf("%q is implied", damaged)
		}
	}
}

// TestImpliedByDeletion: a query that leaves deleted records out needs no condition for an index that does, with
// others only if it implies them.
func TestImpliedByDeletion(t *testing.T) {
	hidden := &erased.Deletion{Field: "DeletedAt"}
	clauses := erased.Conjunction{{Field: "A", Comparison: erased.Equal, Value: tuple.AppendInt(nil, 1)}}
	for predicate, want := range map[string]bool{
		"DeletedAt=null": true, "DeletedAt=zero": true, "A=1 and DeletedAt=zero": true, "": true,
		"DeletedAt!=null": false, "A=2 and DeletedAt=zero": false, "Deleted=null": false,
	} {
		if got := isImplied(predicate, clauses, hidden); got != want {
			t.Errorf("%q: %v", predicate, got)
		}
		if want && predicate != "" && isImplied(predicate, clauses, nil) {
			t.Errorf("%q is implied for a query of all records", predicate)
		}
	}
	zero := erased.Clause{Field: "DeletedAt", Comparison: erased.Equal, Value: index.AppendTime(nil, time.Time{})}
	if !isImplied("DeletedAt=zero", erased.Conjunction{zero}, nil) || !isSaid("DeletedAt=zero", &zero) {
		t.Error("the zero time does not imply itself")
	}
}
