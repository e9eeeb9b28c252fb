// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Term is a leader's time in office. It is an immutable value, and safe for
// concurrent use. Under the zero Term nothing can be written.
type Term struct{ grant leasefdb.Grant }

// Name returns the name of the election.
func (t Term) Name() string { return t.grant.Name }

// Rank returns the rank of the term: greater than those of all terms of the
// name before it.
func (t Term) Rank() int64 { return t.grant.Epoch }

// Fence returns the condition that the term is in force, for
// [persistable.DB.Under]: stores of that DB write in this term, or fail with a
// *persistable.FenceError, which is an [ErrDeposed].
//
// [persistable.DB.Under]: https://pkg.go.dev/github.com/kazahana-db/kazahana/persistable#DB.Under
func (t Term) Fence() leasefdb.Fence { return t.grant.Fence() }

// Under returns db with every transaction under the term: it commits only while
// the term is in force, and else fails with an [ErrDeposed]. db must be the
// election's own database. See [leasefdb.Fence.Under].
func (t Term) Under(db kv.Database) kv.Database { return t.Fence().Under(db) }

// Check makes tx, a transaction of the election's database, commit only while the
// term is in force: see [leasefdb.Grant.Check].
func (t Term) Check(ctx context.Context, tx kv.Transaction) error { return t.grant.Check(ctx, tx) }
