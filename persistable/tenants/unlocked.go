// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// CheckUnlocked returns a *persistable.LockedError if one of the directories, or one above
// it, is locked by [Set.Lock]. The directories were opened in tx, which is about to change
// or remove them: a lock that comes before tx commits is a conflict. The verbs of this
// package and of [persistable.DB] check it themselves. It is for programs that change the
// directories of tenants by a [directory.Layer]:
//
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		all, err := db.Layer().Subtree(ctx, tx.KV(), path)
//		if err != nil {
//			return err
//		}
//		if err := tenants.CheckUnlocked(ctx, tx.KV(), all...); err != nil {
//			return err
//		}
//		return db.Layer().Remove(ctx, tx.KV(), path)
//	})
//
// Cost: one round of reads.
func CheckUnlocked(ctx context.Context, tx kv.ReadTransaction, all ...*directory.Directory) error {
	path, lock, err := tenancy.FindLock(ctx, tx, all...)
	switch {
	case err != nil:
		return fmt.Errorf("tenants: %w", err)
	case path != nil:
		return &persistable.LockedError{Path: path, Reason: lock.Reason}
	}
	return nil
}
