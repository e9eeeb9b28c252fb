// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// deleteIDs deletes the records with the first of these ids in one transaction.
func (m *batcher) deleteIDs(ctx context.Context, ids [][]byte) error {
	return m.commit(ctx, func(b *batch, size int) (int, error) {
		some := ids[:min(size, len(ids))]
		if found, err := b.open(ctx, nil); err != nil || !found {
			return len(some), err
		}
		for _, id := range some {
			if err := b.addDeletion(id); err != nil {
				return 0, err
			}
		}
		return b.run(ctx)
	})
}
