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
// or remove them: a lock that comes before tx commits is a conflict. Together with
// [directory.Layer.Subtree] it keeps a removal from the locked tenants in a directory:
//
//	err := db.RemoveDirectoryIf(ctx, func(tx kv.ReadTransaction, d *directory.Directory) error {
//		all, err := db.Layer().Subtree(ctx, tx, d.Path())
//		if err != nil {
//			return err
//		}
//		return tenants.CheckUnlocked(ctx, tx, all...)
//	}, "customers")
//
// Cost: one round of reads.
func CheckUnlocked(ctx context.Context, tx kv.ReadTransaction, all ...*directory.Directory) error {
	known := map[string]bool{}
	var paths [][]string
	var keys [][]byte
	for _, d := range all {
		path := d.Path()
		for i, annotation := range d.Annotations(tenancy.Owner) {
			key := tenancy.KeysOf(annotation).Settings
			if known[string(key)] {
				continue
			}
			known[string(key)] = true
			paths, keys = append(paths, path[:i+1]), append(keys, key)
		}
	}
	for i, read := range kv.GetMany(tx, keys) {
		value, err := read.Get(ctx)
		if err != nil {
			return err
		}
		s, err := tenancy.Decode(value)
		if err != nil {
			return fmt.Errorf("tenants: %s: %w", pathText(paths[i]), err)
		}
		if s.Lock.ID != "" {
			return &persistable.LockedError{Path: paths[i], Reason: s.Lock.Reason}
		}
	}
	return nil
}
