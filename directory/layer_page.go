// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// ListAfter returns the first limit names of [Layer.List] behind after, in the order
// of their bytes; the empty string stands before all names. Fewer names than limit
// are the last ones. It reads no more than it returns, so a directory of any number
// of subdirectories can be listed page by page. Each call reads one version.
//
// Errors: [ErrNotFound], [ErrPath], [ErrVersion].
func (l *Layer) ListAfter(ctx context.Context, t kv.ReadTransactor, path []string, after string, limit int) ([]string, error) {
	if err := l.checkPath(path); err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, fmt.Errorf("list directory %s: a limit of %d names; it must be positive", pathString(path), limit)
	}
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) ([]string, error) {
		names, err := l.list(ctx, tx, path, after, limit)
		if err != nil {
			return nil, fmt.Errorf("list directory %s: %w", pathString(path), err)
		}
		return names, nil
	})
}
