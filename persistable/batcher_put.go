// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
)

// putSome writes the first of the records in one transaction and returns the others.
func (m *batcher) putSome(ctx context.Context, vs []any, creates bool) (rest []any, err error) {
	err = m.commit(ctx, func(b *batch, size int) (int, error) {
		if _, err := b.open(ctx, true); err != nil {
			return 0, err
		}
		for _, v := range vs[:min(size, len(vs))] {
			if !b.addRecord(v, putOptions{mustBeNew: creates}, m.options.Bytes) {
				break
			}
		}
		return b.runBefore(ctx)
	})
	return slices.Delete(vs, 0, m.taken), err
}
