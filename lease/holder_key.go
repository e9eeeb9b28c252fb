// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// HolderKey returns the key, in the map of the lease's service, whose value names
// the holder of the positions of l. A program that keeps other data in the store's
// medium can fence its transactions with it: it is written when the positions are
// granted, released, split or merged, and hardly ever otherwise.
func HolderKey(l idgen.Lease) []byte { return blockKey(l.Base()) }

// CheckHolder returns nil if value, which a store holds under HolderKey(l), says
// that none of the positions of l was granted again after l. It does not matter
// whether l has ended or was released: the IDs that were made under it stay its
// holder's. Otherwise the error is [ErrNotFound], or a [*CorruptError].
func CheckHolder(serviceID string, l idgen.Lease, value []byte) error {
	if value == nil {
		return fmt.Errorf("%w: the store knows nothing of machine %d any more", ErrNotFound, l.ID)
	}
	b := block{base: l.Base()}
	if err := decode(serviceID, HolderKey(l), value, &b); err != nil {
		return err
	}
	h := b.Holder
	switch {
	case b.BitSeq != l.BitSeq || h == nil:
		return fmt.Errorf("%w: the positions of machine %d have been divided anew", ErrNotFound, l.ID)
	case h.Created != l.Created || h.Secret != l.Secret:
		return fmt.Errorf("%w: machine %d was granted again, %d ms after it", ErrNotFound, l.ID, h.Created-l.Created)
	}
	return nil
}
