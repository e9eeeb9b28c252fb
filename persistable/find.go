// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/planner"
)

// findQuery returns the query of the records that fulfil all conditions.
func findQuery(s *source, conditions []erased.Condition) (*erased.Query, error) {
	if err := s.checkUsable(); err != nil {
		return nil, err
	}
	all := erased.AllOf(conditions)
	alternatives, ok := all.Alternatives()
	if !ok {
		return nil, ErrTooManyAlternatives
	}
	spec := erased.QuerySpec{Source: s.toErased()}
	if len(alternatives) == 0 { // In of no values
		spec.Plan = erased.Plan{Index: byID, Bounds: index.Bounds{}.EndBefore([]byte{})}
		return erased.NewQuery(spec), nil
	}
	search, reason := planner.Search(planner.Request{
		Indexes: s.record.Indexes, Alternatives: alternatives, ID: idFieldOf(s.record), CanFilter: s.record.Values != nil, AllowScan: s.allowScan,
		Hidden: s.hidden(),
	})
	if search == nil {
		return nil, unserved(s.record, alternatives, reason)
	}
	best, _ := firstPlan(s.record.Indexes, search, func(*plan) error { return nil })
	spec.Search, spec.Plan = search, *best
	if len(alternatives) == 1 {
		spec.Wanted = alternatives[0]
	}
	return erased.NewQuery(spec), nil
}

// firstPlan returns the plan of a search with the first way of each alternative that check
// has no error for, or the first error.
func firstPlan(indexes []index.Definition, s *erased.Search, check func(*plan) error) (*plan, error) {
	ways := make([]*plan, 0, len(s.Lanes))
	var failed error
	for _, lane := range s.Lanes {
		at := slices.IndexFunc(lane, func(way plan) bool {
			err := check(&way)
			failed = cmp.Or(failed, err)
			return err == nil
		})
		if at < 0 {
			break
		}
		ways = append(ways, &lane[at])
	}
	switch {
	case len(s.Lanes) > 0 && len(ways) == len(s.Lanes):
		return planner.Combine(indexes, s, ways), nil
	case s.Scan != nil:
		return s.Scan, nil
	}
	return nil, failed
}

// unserved is the error of conditions that no index serves.
func unserved(r *record, alternatives []erased.Conjunction, reason string) error {
	e := noIndex{typ: r.Type, reason: reason}
	for _, clauses := range alternatives {
		for _, c := range clauses {
			e.fields = appendNew(e.fields, c.Field)
		}
		if e.tag == "" {
			e.tag = tagFor(r, clauses)
		}
	}
	for i := range r.Indexes {
		if r.Indexes[i].Kind == index.Value {
			e.indexes = append(e.indexes, r.Indexes[i].Fields)
		}
	}
	return e.err()
}

// tagFor returns the marker of the index that serves clauses without a filter; "" if
// they have no fields but that of the id, which ends each entry anyway.
func tagFor(r *record, clauses erased.Conjunction) string {
	id := idFieldOf(r)
	clauses = slices.DeleteFunc(slices.Clone(clauses), func(c erased.Clause) bool { return c.Field == id })
	var equal, ranges []string
	for _, c := range clauses {
		if c.Comparison == erased.Equal {
			equal = appendNew(equal, c.Field)
		}
	}
	for _, c := range clauses {
		if c.Comparison != erased.Equal {
			ranges = appendNew(ranges, c.Field)
		}
	}
	if len(ranges) > 1 {
		ranges = ranges[:1] // no index serves more than one
	}
	fields := equal
	for _, field := range ranges {
		fields = appendNew(fields, field)
	}
	if len(fields) == 0 {
		return ""
	}
	return "_ persistable.Index `persist:\"" + strings.Join(fields, ",") + "\"`"
}

// idFieldOf returns the name of the field that is the id.
func idFieldOf(r *record) string {
	lock, err := r.Parsed()
	if err != nil {
		return ""
	}
	return lock.Type().ByNumber(schema.MinNumber).Name
}

func appendNew(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// ErrTooManyAlternatives says that the conditions given to Find have more than 256
// alternatives, each combination of those of [Or] and [Field.In] being one.
var ErrTooManyAlternatives = errors.New("persistable: the conditions have more than 256 alternatives: ask in several queries")

// DefaultFilterLimit is how many records a query may look at to leave some out, unless
// [Query.FilterLimit] says otherwise.
const DefaultFilterLimit = 10_000

// noIndex is an [ErrNoIndex] before it becomes one: what its text says.
type noIndex struct {
	typ     string
	fields  []string   // of the conditions; empty if a name is wrong
	indexes [][]string // the fields of each index of the type that Find can use; of all, if a name is wrong
	reason  string     // empty, or why no index of any fields could serve the conditions
	tag     string     // the marker of an index that serves them; "" if only the id has conditions
}

// mostIndexesNamed is how many indexes the text of an [ErrNoIndex] names.
const mostIndexesNamed = 10

func (e *noIndex) err() error {
	have := make([]string, min(len(e.indexes), mostIndexesNamed))
	for i := range have {
		if have[i] = "(" + strings.Join(e.indexes[i], ",") + ")"; len(e.indexes[i]) == 0 {
			have[i] = "an index without fields, as a Version is"
		}
	}
	if more := len(e.indexes) - len(have); more > 0 {
		have = append(have, fmt.Sprintf("and %d more", more))
	}
	if len(e.fields) == 0 {
		return sentinel.Mark(ErrNoIndex, fmt.Errorf("persistable: %s: %s (it has %d indexes: %s)", e.typ, e.reason, len(e.indexes), strings.Join(have, ", ")))
	}
	remedy := "add an index tag, such as " + e.tag + ", and run go generate"
	if e.tag == "" {
		remedy = "get records by their ids with Get and GetMany, or by a range of ids with ScanRange"
	}
	return sentinel.Mark(ErrNoIndex, fmt.Errorf("persistable: %s: %s (%s): it has %s; %s, or read all records by AllowScan",
		e.typ, cmp.Or(e.reason, "no index begins with"), strings.Join(e.fields, ","), cmp.Or(strings.Join(have, ", "), "no index that Find can use"), remedy))
}
