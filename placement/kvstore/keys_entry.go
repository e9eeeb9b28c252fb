// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// startEntry begins to read all chunks of an entry.
func (k keys) startEntry(tx kv.ReadTransaction, key placement.Key) kv.RangeResult {
	return tx.GetRange(k.entry(key).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
}

// joinEntry waits for the chunks of an entry, and returns nil if there is none.
func (k keys) joinEntry(ctx context.Context, key placement.Key, chunks kv.RangeResult) (*placement.ActivationEntry, error) {
	pairs, err := chunks.Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	e, err := decodeEntry(join(pairs))
	if err != nil {
		return nil, &CorruptError{Key: k.chunk(key, 0), Err: err}
	}
	return e, nil
}

// join returns the bytes of all chunks.
func join(pairs []kv.KeyValue) (b []byte) {
	for _, pair := range pairs {
		b = append(b, pair.Value...)
	}
	return b
}

// writeEntry replaces an entry.
func (k keys) writeEntry(tx kv.Transaction, key placement.Key, b []byte) {
	tx.ClearRange(k.entry(key))
	for n := 0; len(b) > 0; n++ {
		size := min(chunkSize, len(b))
		tx.Set(k.chunk(key, n), b[:size])
		b = b[size:]
	}
}

// checkStored checks whether an attempt of unknown outcome has stored the entry before
// another owner claimed the key. The entry stays until that owner stores its own: a claim
// removes no entry.
func (k keys) checkStored(ctx context.Context, tx kv.ReadTransaction, row Row, lease placement.Lease, encoded []byte) error {
	pairs, err := k.startEntry(tx, lease.Key).Slice(ctx)
	if err != nil || bytes.Equal(join(pairs), encoded) {
		return err
	}
	found := placement.ActivationEntry{}
	if len(pairs) > 0 {
		if found, _, _, err = decodeHead(pairs[0].Value); err != nil {
			return &CorruptError{Key: k.chunk(lease.Key, 0), Err: err}
		}
	}
	if row.Epoch == lease.Epoch+1 && !row.Free() && found.Epoch <= lease.Epoch {
		return staleError(row)
	}
	return fmt.Errorf("%w, and the key has been claimed or given back since", kv.ErrOutcomeUnknown)
}
