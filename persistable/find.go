// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/index"
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
		Indexes: s.record.Indexes, Alternatives: alternatives, CanFilter: s.record.Values != nil, AllowScan: s.allowScan,
	})
	if search == nil {
		return nil, noIndex(s.record, alternatives, reason)
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

// noIndex is the error of conditions that no index serves.
func noIndex(r *record, alternatives []erased.Conjunction, reason string) error {
	e := &NoIndexError{Type: r.Type, Reason: reason}
	for _, clauses := range alternatives {
		for _, c := range clauses {
			e.Fields = appendNew(e.Fields, c.Field)
		}
		if e.Tag == "" {
			e.Tag = tagFor(clauses)
		}
	}
	for i := range r.Indexes {
		if r.Indexes[i].Kind == index.Value {
			e.Indexes = append(e.Indexes, r.Indexes[i].Fields)
		}
	}
	return e
}

// tagFor returns the marker of the index that serves clauses without a filter; "" if
// they have no fields.
func tagFor(clauses erased.Conjunction) string {
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

// FilterLimitError says that a query which filters records in memory has looked at as many
// as its FilterLimit allows. What it has yielded before is right.
type FilterLimitError struct {
	Type string
	Keys int    // how many records it has looked at
	Tag  string // the marker of an index that serves the query without a filter; empty if it is unknown
}

// Error implements error.
func (e *FilterLimitError) Error() string {
	text := fmt.Sprintf("persistable: %s: the query has looked at %d records and leaves some out in memory", e.Type, e.Keys)
	if e.Tag != "" {
		text += ": add the index " + e.Tag + ", or"
	} else {
		text += ":"
	}
	return text + " raise the query's FilterLimit"
}

// mostIndexesNamed is how many indexes the text of a NoIndexError names.
const mostIndexesNamed = 10

// NoIndexError says that no index of the type serves the conditions given to
// Find or FindOne: at least one condition on the first field of an index.
type NoIndexError struct {
	Type    string
	Fields  []string   // the fields of the conditions
	Indexes [][]string // the fields of each index of the type that Find can use; of all, if a name is wrong
	Reason  string     // empty, or why no index of any fields could serve the conditions
	Tag     string     // the marker of an index that serves them, to be pasted into the struct; empty if there is none
}

// Error implements error.
func (e *NoIndexError) Error() string {
	have := make([]string, min(len(e.Indexes), mostIndexesNamed))
	for i := range have {
		if have[i] = "(" + strings.Join(e.Indexes[i], ",") + ")"; len(e.Indexes[i]) == 0 {
			have[i] = "an index without fields, as a Version is"
		}
	}
	if more := len(e.Indexes) - len(have); more > 0 {
		have = append(have, fmt.Sprintf("and %d more", more))
	}
	if len(e.Fields) == 0 {
		return fmt.Sprintf("persistable: %s: %s (it has %d indexes: %s)", e.Type, e.Reason, len(e.Indexes), strings.Join(have, ", "))
	}
	reason := e.Reason
	if reason == "" {
		reason = "no index begins with"
	}
	return fmt.Sprintf("persistable: %s: %s (%s): it has %s; add an index tag, such as %s, and run go generate, or read all records by AllowScan",
		e.Type, reason, strings.Join(e.Fields, ","), cmp.Or(strings.Join(have, ", "), "no index that Find can use"), e.Tag)
}
