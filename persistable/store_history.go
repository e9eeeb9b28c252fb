// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// SchemaHistory returns what the header of the store's directory said of schema and
// indexes, the first version first, the present one last; nothing if no record was ever
// written there. A version is kept when a program of a newer schema writes for the first
// time, and when an index is added, built in another layout or removed; not for changes of
// an index's state.
//
// Cost: two rounds of reads.
//
//go:noinline
func (s *Store[T, ID]) SchemaHistory(ctx context.Context) ([]SchemaVersion, error) {
	return sourceOf(s).schemaHistory(ctx)
}
