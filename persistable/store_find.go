// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Find returns the query of the records that fulfil all conditions.
//
// It picks the index that leaves the fewest conditions over: one whose first fields
// have equality, and whose next field has a range. What is left over filters the
// records in memory, up to [Query.FilterLimit] of them. Two indexes that have equality on
// all of their fields, and together serve more conditions than each alone, are
// intersected: keys of both are read side by side, and only the records in both are
// fetched. Alternatives ([Field.In], [Or]) become lanes, which are read side by side
// and put into one order; a record that is in several lanes comes once.
// A partial index is used if the conditions imply its predicate. Of indexes that
// are equally good it takes the one with the fewest fields, then the first. Each alternative
// takes the best index that is ready, so that one that is being built stops no query.
// A record comes once, also for a range of a slice, with the lowest of its elements in the
// range; such a range looks at each record, so that FilterLimit holds for it. [Query.Explain]
// tells the plan.
//
// The records come in the order of the index behind the fields with equality: with all
// fields equal, by id. Lanes of one index with the same fields equal have one order,
// too, and so have lanes that are all ordered by id; any others come one
// after the other, in the order of the alternatives.
//
// If no index serves a condition of an alternative, Find returns a *[NoIndexError],
// which names the tag that is missing: see [Store.AllowScan].
//
//go:noinline
func (s *Store[T, ID]) Find(conditions ...Condition[T]) (*Query[T], error) {
	return find(sourceOf(s), conditions)
}

// FindOne returns the first record that fulfils all conditions, in the order that
// [Store.Find] says, or [ErrNotFound].
//
//go:noinline
func (s *Store[T, ID]) FindOne(ctx context.Context, conditions ...Condition[T]) (T, error) {
	return findOne(ctx, sourceOf(s), conditions)
}

// AllowScan returns the store with a Find that reads all records, in the order of
// their ids, where no index serves the conditions. The [Query.FilterLimit] of 10,000
// records holds for such a query, too.
//
//go:noinline
func (s *Store[T, ID]) AllowScan() *Store[T, ID] {
	return (*Store[T, ID])(allowingScan((*erased.Store[ID])(s)))
}
