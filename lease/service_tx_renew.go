// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"
)

// findRenewable returns the block at base if the lease that req names can be
// renewed.
func (tx *serviceTx) findRenewable(ctx context.Context, base uint64, req RenewRequest) (*block, error) {
	values, err := tx.load(ctx, blockKey(base))
	if err != nil {
		return nil, err
	}
	if !tx.isReady() || values[0] == nil {
		return nil, ErrNotFound
	}
	quarantine, err := tx.openService()
	if err != nil {
		return nil, err
	}
	if quarantine > tx.now {
		return nil, &QuarantineError{ServiceID: tx.service, Until: time.UnixMilli(quarantine)}
	}
	if err := tx.checkClock(); err != nil {
		return nil, err
	}
	b, err := tx.decodeBlock(blockKey(base), values[0])
	if err != nil {
		return nil, err
	}
	return b, req.check(b.Holder, b.BitSeq, tx.now)
}

// renewLease moves the end of the block's lease, of which the holder uses so many
// milliseconds.
func (tx *serviceTx) renewLease(b *block, uses int64) error {
	h := b.Holder
	until := max(tx.now, h.Created) + tx.duration()
	switch {
	case h.Renewed || uses == 0:
		until = max(until, h.Expired)
	default:
		until = max(until, min(h.Created+uses, h.Expired))
	}
	until = min(until, tx.config.Layout.Last().UnixMilli()+1)
	if b.Future != nil && until > b.Future.From {
		return fmt.Errorf("%w: its positions are granted to others from %d on", ErrNotRenewable, b.Future.From)
	}
	tx.deleteBlock(b)
	b.extendTo(until)
	tx.putBlock(b)
	tx.noteGrant()
	return nil
}
