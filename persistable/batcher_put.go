// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
)

// putSome writes the first of the records in one transaction and returns the others.
func (m *batcher) putSome(ctx context.Context, vs []any, how putOptions) (rest []any, err error) {
	err = m.commit(ctx, func(b *batch, size int) (int, error) {
		if found, err := b.open(ctx, !how.mustExist); err != nil {
			return 0, err
		} else if !found {
			b.fault = b.notFound(vs[0])
			return 0, nil
		}
		for _, v := range vs[:min(size, len(vs))] {
			if !b.addRecord(v, how, m.options.Bytes) {
				break
			}
		}
		return b.runBefore(ctx)
	})
	return slices.Delete(vs, 0, m.taken), err
}
