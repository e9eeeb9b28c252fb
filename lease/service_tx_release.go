// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// releaseBlock releases the lease of b that req names. A lease that has ended, or
// was released before, stays as it is.
func (tx *serviceTx) releaseBlock(ctx context.Context, b *block, req idgen.ReleaseRequest) error {
	if b.BitSeq != req.BitSeq || b.Holder == nil {
		return ErrNotFound
	}
	h := b.Holder
	if h.Created != req.Created {
		return h.Before.checkRepeat(req)
	}
	if !req.Verify(h.Secret) {
		return ErrSignature
	}
	if req.LastTs < h.Created-1 || req.LastTs >= h.Expired {
		return fmt.Errorf("%w: %d; the lease permits %d to %d", ErrLastTs, req.LastTs, h.Created-1, h.Expired-1)
	}
	if h.Released != nil {
		return checkSameLastTs(*h.Released, req)
	}
	if req.Timestamp >= h.Expired {
		return nil
	}
	if err := tx.refundLease(ctx, b); err != nil {
		return err
	}
	tx.deleteBlock(b)
	b.releaseAfter(req.LastTs)
	tx.putBlock(b)
	return nil
}

// refundLease takes a lease that is released out of the account in which it counts.
func (tx *serviceTx) refundLease(ctx context.Context, b *block) error {
	c := b.Holder.Charge
	if c == nil {
		return nil
	}
	hash, err := hex.DecodeString(c.Account)
	if err != nil {
		return &CorruptError{ServiceID: tx.service, Key: blockKey(b.base), Cause: err}
	}
	key := accountKey(hash)
	values, err := tx.store.Get(ctx, key)
	if err != nil {
		return err
	}
	var record accountRecord
	if known, err := tx.decode(key, values[0], &record); !known || err != nil {
		return err
	}
	record.refund(*c, idgen.Lease{BitSeq: b.BitSeq}.ThroughputPerMs())
	tx.set(key, encode(key, &record))
	return nil
}

// releaseLiteral releases the lease of the machine whose secret has signed req.
// Every lease has a secret of its own, so the signature tells the leases of
// different bitSeq apart, and a replay does nothing to a later lease.
//
// The request does not say when the holder made its last ID, and no clock proves
// it. So the bounds of the block stay: its positions are free when the lease ends.
// The lease is listed as released, and a repeated request is not answered with it.
func (tx *serviceTx) releaseLiteral(ctx context.Context, req idgen.ReleaseRequest) error {
	keys := tx.config.machineKeys(req.ID)
	if keys == nil {
		return fmt.Errorf("%w: machine id %d; it must be from 0 to %d", ErrInvalid, req.ID, int64(1)<<(tx.config.spaceBits()-1)-1)
	}
	blocks, err := tx.getBlocks(ctx, keys)
	if err != nil {
		return err
	}
	err = ErrNotFound
	for _, b := range blocks {
		if b.damage != nil {
			err = b.damage // another one may be that of the request
		}
		if b.block == nil || b.Holder == nil || int64(b.base>>b.BitSeq) != req.ID {
			continue
		}
		switch h := b.Holder; {
		case !req.Verify(h.Secret):
			if h.Before != nil && req.Verify(h.Before.Secret) {
				return nil // it was released, and the positions were granted again since
			}
			err = ErrSignature
		case h.Released != nil || req.Timestamp >= h.Expired:
			return nil
		default:
			last := h.Expired - 1
			h.Released = &last
			tx.putBlock(b.block)
			return nil
		}
	}
	return err
}
