// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

// finish removes the list, of which nothing is left, and makes its indexes readable
// but for unique ones, whose violations come first. That is one transaction: a write
// maintains a record that is done as long as there is a list, and every record
// afterwards. If the list is another one by then, it stays.
func (r *Run) finish(ctx context.Context) error {
	return r.store.Transact(ctx, func(t Transaction) error {
		at, tx := t.Place(), t.KV()
		members, err := at.List.readMembers(ctx, tx)
		if err != nil || members == nil {
			return err // another process has finished it
		}
		ranges, err := at.List.readRanges(ctx, tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(ranges, func(r Range) bool { return !r.IsDone() }) {
			return nil // another process has replaced it: the next run completes that one
		}
		at.List.clear(tx)
		return t.SetStates(ctx, index.Readable, func(ix *index.Index) bool {
			return ix.State == index.Building && !ix.Unique && slices.Contains(members, MemberOf(ix.Definition))
		})
	})
}
