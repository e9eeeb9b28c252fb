// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Entries implements the run-time of package dynamic.
func (implementation) Entries(ctx context.Context, e *erased.Source, id []byte) ([]erased.Entry, error) {
	return newSource(e).entries(ctx, id)
}

// Drop implements the run-time of package dynamic.
func (implementation) Drop(ctx context.Context, e *erased.Source, keyName string) error {
	return newSource(e).dropIndex(ctx, keyName)
}
