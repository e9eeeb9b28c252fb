// SPDX-License-Identifier: Apache-2.0

package base

import "context"

// Checkpoint writes what the base has on the disk to a folder, which it makes in
// one that belongs to the backup. It does not sync the folders. After an error the base goes on.
func (b *Base) Checkpoint(ctx context.Context, dir string) error {
	b.fs.checkpoints.Store(&checkpointWrite{ctx, b.fs.PathDir(dir)}) // Pebble syncs the folder above, too
	defer b.fs.checkpoints.Store(nil)
	err := b.db.Checkpoint(dir)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err == nil {
		err = b.fault.Get() // what was copied may not have been on the disk
	}
	return err
}
