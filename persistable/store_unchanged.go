// SPDX-License-Identifier: Apache-2.0

package persistable

import "context"

// DeleteIfUnchanged is Delete on the condition that the stored record is still the
// one that the caller has seen: was is what Get or a query returned. If the stored
// record differs from was in any field that this program knows, DeleteIfUnchanged
// returns [ErrChanged], and if it is gone, [ErrNotFound]; then nothing is written.
//
// If the acknowledgement of the commit is lost, a record that is gone when
// DeleteIfUnchanged looks again counts as deleted by it.
//
// Cost: one round of reads and the commit.
//
//go:noinline
func (s *Store[T, ID]) DeleteIfUnchanged(ctx context.Context, was T) error {
	return sourceOf(s).deleteIfUnchanged(ctx, untyped(was))
}
