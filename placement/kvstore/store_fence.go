// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"fmt"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Fence returns the condition that the owner has the key under the epoch: no other
// claim has been granted and nothing was removed or released. Its error is a
// leasefdb.ErrLeaseLost and a [placement.ErrActivationLost]. The fence of a Store that was granted no
// claim is never in force.
func (s *Store) Fence(key placement.Key, owner placement.Owner, epoch int64) leasefdb.Fence {
	prefix := s.prefix.Load()
	if prefix == nil || key.Validate() != nil {
		return leasefdb.NewFence(nil, func([]byte) error {
			return lostError(key, epoch, "this Store was granted no claim yet", nil)
		})
	}
	at := keys{*prefix}.row(key)
	return leasefdb.NewFence(at, func(found []byte) error {
		row, err := decodeRow(key, at, found)
		switch {
		case err != nil:
			return lostError(key, epoch, "its row cannot be read", err)
		case row.isHeldBy(owner, epoch):
			return nil
		}
		return lostError(key, epoch, staleError(row).Error(), nil)
	})
}

// lostError is the error of a fence that is not in force.
func lostError(key placement.Key, epoch int64, reason string, cause error) error {
	err := placement.ErrActivationLost
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &leasefdb.LostError{Name: key.String(), Epoch: epoch, Reason: reason, Err: err}
}
