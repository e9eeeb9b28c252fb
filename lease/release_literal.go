// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// literal reports whether req is the release of the specification's section
// 4.1: an id, a timestamp, and a signature of these two. It does not say which
// lease of the machine it is about, nor the last millisecond that was used.
func literal(req idgen.ReleaseRequest) bool {
	return req.BitSeq == 0 && req.Created == 0 && req.LastTs == 0
}

// verifyLiteral reports, in constant time, whether req carries the
// specification's signature under secret: HMAC-SHA-256 in hexadecimal of
// "<id>:<timestamp>".
func verifyLiteral(req idgen.ReleaseRequest, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d:%d", req.ID, req.Timestamp)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(req.Signature))
}

// releaseLiteral releases the lease of the machine whose secret has signed req.
// Every lease has a secret of its own, so the signature tells the leases of
// different bitSeq apart, and a replay does nothing to a later lease.
//
// The holder does not say when it made its last ID, and no clock proves it. So
// the bounds of the block stay: its positions are free when the lease ends. The
// lease is listed as released, and its request is no longer answered from it.
func (ses *session) releaseLiteral(ctx context.Context, req idgen.ReleaseRequest) error {
	keys := ses.config.machineKeys(req.ID)
	if keys == nil {
		return fmt.Errorf("%w: machine id %d; it must be from 0 to %d", ErrInvalid, req.ID, int64(1)<<(ses.config.spaceBits()-1)-1)
	}
	blocks, err := ses.blocks(ctx, keys)
	if err != nil {
		return err
	}
	err = ErrNotFound
	for _, b := range blocks {
		if b == nil || b.Holder == nil || int64(b.base>>b.BitSeq) != req.ID {
			continue
		}
		switch h := b.Holder; {
		case !verifyLiteral(req, h.Secret):
			if h.Before != nil && verifyLiteral(req, h.Before.Secret) {
				return nil // it was released, and somebody else holds the positions since
			}
			err = ErrSignature
		case h.Released != nil || req.Timestamp >= h.Expired:
			return nil
		default:
			last := h.Expired - 1
			h.Released = &last
			ses.put(b)
			return nil
		}
	}
	return err
}

// machineKeys returns the keys of the blocks that machine id can name, with any
// number of sequence bits; nil if it can name none.
func (c ServiceConfig) machineKeys(id int64) [][]byte {
	var keys [][]byte
	for bitSeq := 1; bitSeq < c.spaceBits() && (id != 0 || keys == nil); bitSeq++ {
		if base, err := c.base(id, bitSeq); err == nil {
			keys = append(keys, blockKey(base))
		}
	}
	return keys
}
