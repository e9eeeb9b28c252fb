// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"

	"github.com/kazahana-db/kazahana/idgen"
)

const (
	// forgetPerCall is how many records of requests a call with a request key
	// removes: more than it adds.
	forgetPerCall = 4

	// forgetAfter is how many milliseconds such a record outlasts its leases, so
	// that no call that may still repeat the request conflicts with its removal.
	forgetAfter = 60_000
)

// findRepeat returns the leases that were granted for the request key before; nil
// if there are none, or if that grant no longer holds: one of the leases has
// ended, was released, or begins so far ahead that the clock which granted it
// must have been wrong.
func (a *acquisition) findRepeat(ctx context.Context) ([]idgen.Lease, error) {
	var record requestRecord
	if known, err := a.tx.decode(requestRecordKey(a.request.keyHash), a.repeat, &record); !known || err != nil {
		return nil, err
	}
	a.expired = forgetKey(record.Until, a.request.keyHash)
	if record.Until <= a.tx.now {
		return nil, nil
	}
	keys := make([][]byte, len(record.Leases))
	for i, ref := range record.Leases {
		keys[i] = blockKey(ref.Base)
	}
	blocks, err := a.tx.getBlocks(ctx, keys)
	if err != nil {
		return nil, err
	}
	leases := make([]idgen.Lease, len(blocks))
	for i, b := range blocks {
		if b.damage != nil {
			return nil, b.damage
		}
		if !a.holdsStill(b.block, record.Leases[i]) {
			return nil, nil
		}
		leases[i] = a.request.config.leaseOf(b.block)
	}
	return leases, nil
}

// holdsStill reports whether b is leased as ref says, and can be answered again.
func (a *acquisition) holdsStill(b *block, ref leaseRef) bool {
	if b == nil || b.Holder == nil {
		return false
	}
	h := b.Holder
	return h.Created == ref.Created && h.Request == a.request.keyText() &&
		h.Released == nil && h.Created-a.tx.now <= a.tx.duration()
}

// rememberRequest writes what was granted for the request key, if there is one.
func (a *acquisition) rememberRequest(leases []idgen.Lease) {
	if a.request.keyHash == nil {
		return
	}
	record := requestRecord{Until: leases[0].Expired}
	for _, l := range leases {
		record.Until = min(record.Until, l.Expired)
		record.Leases = append(record.Leases, leaseRef{Base: l.Base(), Created: l.Created})
	}
	if a.expired != nil {
		a.tx.set(a.expired, nil)
	}
	key := requestRecordKey(a.request.keyHash)
	a.tx.set(key, encode(key, record))
	a.tx.set(forgetKey(record.Until, a.request.keyHash), []byte{recordFormat})
}

// forgetRequests removes some records of requests whose leases have ended. A
// request without a key removes none.
func (a *acquisition) forgetRequests(ctx context.Context) error {
	if a.request.keyHash == nil {
		return nil
	}
	pairs, err := a.tx.store.Scan(ctx, []byte{keyForget}, forgetKey(max(a.tx.now-forgetAfter, 0), nil), forgetPerCall)
	if err != nil {
		return err
	}
	for _, pair := range pairs {
		hash, ok := forgetHash(pair.Key)
		if !ok {
			a.tx.damage = append(a.tx.damage, &CorruptError{ServiceID: a.request.service, Key: pair.Key, Cause: errKeyLength})
			continue
		}
		a.tx.set(pair.Key, nil)
		a.tx.set(requestRecordKey(hash), nil)
	}
	return nil
}
