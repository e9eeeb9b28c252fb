// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// scanRun is a scan without the type of its records.
type scanRun struct {
	query  *query
	cursor cursor
	from   []byte // a part begins at this key of the cursor's plan, without prefix and shard; nil: at the query's begin
	before []byte // and ends before this one; nil: at the query's end
	ended  bool   // there are no further records
	err    error  // why it cannot read
	given  string // the token with which it began
}

// newScanRun returns what reads the query from the place of a token on.
func newScanRun(e *erased.Query, token string) *scanRun {
	r := &scanRun{query: newQuery(e), given: token}
	r.cursor.limit = r.query.limit
	r.err = r.query.checkUsable()
	switch {
	case r.err != nil:
	case r.query.tx != nil:
		r.err = fmt.Errorf("persistable: %s: a scan across transactions needs a query of a store that is not bound to one by In", r.query.record.Type)
	case token != "":
		r.err = r.resume(token)
	}
	return r
}

// yieldAll calls read with each record that is left, and then yield. After an error, of
// read too, it stops in front of that record.
func (r *scanRun) yieldAll(ctx context.Context, read func(any) error, yield func(error) bool) {
	switch {
	case r.err != nil:
		yield(r.err)
		return
	case r.ended:
		return
	}
	r.cursor.looked = 0
	behind := r.cursor
	r.ended = r.part().yieldBehind(ctx, &r.cursor, func(v any, err error) bool {
		if err == nil {
			if err = read(v); err != nil {
				r.cursor = behind
			}
		}
		behind = r.cursor
		return yield(err) && err == nil
	})
}

// part returns the query with the bounds of the scan.
func (r *scanRun) part() *query {
	q := *r.query
	q.from, q.before = r.from, r.before
	return &q
}
