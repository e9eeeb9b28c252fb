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
// Errors: [ErrNotFound], [ErrPath], [ErrVersion], and as of List [ErrCorrupt], with the names.
func (l *Layer) ListAfter(ctx context.Context, t kv.ReadTransactor, path []string, after string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, fmt.Errorf("list directory %s: a limit of %d names; it must be positive", pathString(path), limit)
	}
	return l.listIn(ctx, t, path, after, limit)
}
