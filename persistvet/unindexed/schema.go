// SPDX-License-Identifier: Apache-2.0

package unindexed

import (
	"fmt"
	"slices"
	"strings"
)

// schema is the fact about a generated store that says which indexes it has.
type schema struct {
	Type      string
	Indexes   []definition
	CanFilter bool // the code can look at the values of a record's fields
}

// AFact makes schema a fact.
func (*schema) AFact() {}

// String describes the fact in the tests of analyzers.
func (s *schema) String() string {
	var names []string
	for _, d := range s.Indexes {
		names = append(names, strings.Join(d.Fields, ","))
	}
	return "indexes " + strings.Join(names, "; ")
}

// definition is what the choice of an index depends on in an index.Definition.
type definition struct {
	Kind, Where, Signature string
	Fields, Sparse         []string
}

// fields is the fact about a generated variable of fields that says which name each
// has in indexes.
type fields struct{ All []field }

// field has the path of a field in the variable, and its name in indexes.
type field struct{ Path, Name string }

// AFact makes fields a fact.
func (*fields) AFact() {}

// String describes the fact in the tests of analyzers.
func (f *fields) String() string { return "fields" }

// name returns the name in indexes of the field at a path, "" if there is none.
func (f *fields) name(path string) string {
	for _, field := range f.All {
		if field.Path == path {
			return field.Name
		}
	}
	return ""
}

// message says that no index serves clauses, and what to do.
func (s *schema) message(method string, clauses []clause) string {
	names := fieldNames(clauses)
	return fmt.Sprintf("no index of %s serves the conditions on %s: %s returns a *persistable.NoIndexError. "+
		"Declare an index, `_ persistable.Index` with the tag `persist:%q`, or call AllowScan if it may read all records",
		s.Type, strings.Join(names, ", "), method, strings.Join(names, ","))
}

// fieldNames returns the fields of clauses, those with equality first, each once.
func fieldNames(clauses []clause) (names []string) {
	seen := map[string]bool{}
	for _, equal := range []bool{true, false} {
		for _, c := range clauses {
			if (c.comparison == "Equal") == equal && !seen[c.field] {
				seen[c.field] = true
				names = append(names, c.field)
			}
		}
	}
	return names
}

// clause is a condition on one field. In is a condition with equality.
type clause struct{ field, comparison string }

// serves reports whether an index serves clauses, of which all must hold. Where that
// depends on values that only the program knows, it reports true.
func (s *schema) serves(clauses []clause) bool {
	return slices.ContainsFunc(s.Indexes, func(d definition) bool { return s.choose(&d, clauses) })
}

// choose follows the planner of package persistable: an index serves clauses if it is of
// values, the first of its fields have clauses, and no record that fulfils them is
// missing in it.
func (s *schema) choose(d *definition, clauses []clause) bool {
	if d.Kind != "" || !mayImply(clauses, d.Where) {
		return false
	}
	equal, with := d.match(clauses)
	used := used(d, clauses, with)
	if used == 0 || !d.hasAll(with, clauses) {
		return false
	}
	once := with > equal && d.isSlice(equal)
	return s.CanFilter || used == len(clauses) && !once
}

// match returns how many of the first fields have a clause with equality, and how many
// have one with the field behind them, on which there may be a range.
func (d *definition) match(clauses []clause) (equal, with int) {
	for _, field := range d.Fields {
		if !slices.Contains(clauses, clause{field, "Equal"}) {
			break
		}
		equal++
	}
	if equal < len(d.Fields) && has(clauses, d.Fields[equal]) {
		return equal, equal + 1
	}
	return equal, equal
}

func has(clauses []clause, field string) bool {
	return slices.ContainsFunc(clauses, func(c clause) bool { return c.field == field })
}

// used counts the clauses on the first n fields of an index, and those that its
// predicate may say.
func used(d *definition, clauses []clause, n int) (count int) {
	for _, c := range clauses {
		if slices.Contains(d.Fields[:n], c.field) || mentions(d.Where, c.field) {
			count++
		}
	}
	return count
}

// hasAll reports whether an index whose first n fields have clauses may have all
// records that fulfil them, in spite of nulls and empty slices.
func (d *definition) hasAll(n int, clauses []clause) bool {
	for i, field := range d.Fields {
		if d.isSlice(i) {
			if i >= n {
				return false
			}
			continue
		}
		if slices.Contains(d.Sparse, field) && !excludesNull(clauses, field) {
			return false
		}
	}
	return true
}

// excludesNull reports whether a clause on a field may exclude null.
func excludesNull(clauses []clause, field string) bool {
	return slices.ContainsFunc(clauses, func(c clause) bool {
		return c.field == field && c.comparison != "To" && c.comparison != "Before"
	})
}

// isSlice reports whether the i-th field is a slice.
func (d *definition) isSlice(i int) bool {
	kinds := strings.Split(d.Signature, ",")
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// mayImply reports whether there is a clause on each field of a predicate.
func mayImply(clauses []clause, where string) bool {
	if where == "" {
		return true
	}
	for comparison := range strings.SplitSeq(where, " and ") {
		if at := strings.IndexAny(comparison, "=!<>"); at > 0 && !has(clauses, comparison[:at]) {
			return false
		}
	}
	return true
}

// mentions reports whether a predicate has a comparison of a field.
func mentions(where, field string) bool {
	for comparison := range strings.SplitSeq(where, " and ") {
		if at := strings.IndexAny(comparison, "=!<>"); at > 0 && comparison[:at] == field {
			return true
		}
	}
	return false
}
