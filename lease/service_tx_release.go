// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

// releasedLease is a lease that was released, for when its release is repeated.
type releasedLease struct {
	Created int64  `json:"created"`
	LastTs  int64  `json:"lastTs"`
	Secret  string `json:"secret"`
}

// checkRepeat checks a release of the lease before the present one of the block.
func (r *releasedLease) checkRepeat(req idgen.ReleaseRequest) error {
	if r == nil || r.Created != req.Created {
		return ErrNotFound
	}
	if !req.Verify(r.Secret) {
		return ErrSignature
	}
	return checkSameLastTs(r.LastTs, req)
}

func checkSameLastTs(first int64, req idgen.ReleaseRequest) error {
	if req.LastTs != first {
		return fmt.Errorf("%w: %d; the lease was released with %d before", ErrLastTs, req.LastTs, first)
	}
	return nil
}

// releaseBlock releases the lease of b that req names. A lease that has ended, or
// was released before, stays as it is.
func (tx *serviceTx) releaseBlock(ctx context.Context, b *block, req idgen.ReleaseRequest) error {
	if b.SequenceBits != req.SequenceBits || b.Holder == nil {
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
		return &refusal.CorruptError{ServiceID: tx.service, Key: blockKey(b.base), Cause: err}
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
	record.refund(*c, idgen.Lease{SequenceBits: b.SequenceBits}.Throughput())
	tx.set(key, encode(key, &record))
	return nil
}

// releaseLiteral releases the lease of the machine that req was signed for. Every
// lease has a secret of its own, so the signature tells the leases of different
// bitSeq apart, and a replay does nothing to a later lease.
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
		if b.block == nil || b.Holder == nil || int64(b.base>>b.SequenceBits) != req.ID {
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

// ErrNotRenewable says that a lease cannot be renewed: it has ended or was
// released, or counts in a budget, or its positions were granted to others for a
// later time. Acquire another lease.
var ErrNotRenewable = errors.New("lease: not renewable")

// checkRenewable reports why l, if it is the last lease of the block, cannot be renewed at now.
func checkRenewable(b *block, l idgen.Lease, now int64) error {
	h := b.Holder
	switch {
	case h == nil || b.SequenceBits != l.SequenceBits || h.Created != l.Created:
		return ErrNotFound
	case subtle.ConstantTimeCompare([]byte(h.Secret), []byte(l.Secret)) == 0:
		return ErrSignature
	case h.Released != nil:
		return fmt.Errorf("%w: it was released", ErrNotRenewable)
	case now >= h.Expired:
		return fmt.Errorf("%w: it ended %d ms ago", ErrNotRenewable, now-h.Expired)
	case h.Charge != nil:
		return fmt.Errorf("%w: it counts in a budget", ErrNotRenewable)
	}
	return nil
}

// findRenewable returns the block at base if its lease is l and can be renewed.
func (tx *serviceTx) findRenewable(ctx context.Context, base uint64, l idgen.Lease) (*block, error) {
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
		return nil, &refusal.QuarantineError{ServiceID: tx.service, Until: time.UnixMilli(quarantine)}
	}
	if err := tx.checkClock(); err != nil {
		return nil, err
	}
	b, err := tx.decodeBlock(blockKey(base), values[0])
	if err != nil {
		return nil, err
	}
	return b, checkRenewable(b, l, tx.now)
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
		return fmt.Errorf("%w: its positions are granted to others, beginning at %d", ErrNotRenewable, b.Future.From)
	}
	tx.deleteBlock(b)
	b.extendTo(until)
	tx.putBlock(b)
	tx.noteGrant()
	return nil
}
