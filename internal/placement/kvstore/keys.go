// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// Letters of the keys in the directory.
const (
	letterRow   = "F" // (letter, kind, id)
	letterEntry = "R" // (letter, kind, id, chunk)
)

// keys makes the keys in a directory.
type keys struct{ prefix []byte }

// keyFor returns the key of a letter and a placement key.
func (k keys) keyFor(letter string, key placement.Key) []byte {
	b := make([]byte, 0, len(k.prefix)+len(key.Kind)+len(key.ID)+16)
	b = tuple.AppendString(append(b, k.prefix...), letter)
	return tuple.AppendString(tuple.AppendString(b, key.Kind), key.ID)
}

// row returns the key of a row, which is the key of its fence.
func (k keys) row(key placement.Key) []byte { return k.keyFor(letterRow, key) }

// entry returns the range of an entry's chunks.
func (k keys) entry(key placement.Key) kv.KeyRange {
	b := k.keyFor(letterEntry, key)
	return kv.KeyRange{Begin: append(bytes.Clone(b), 0x00), End: append(b, 0xff)}
}

// chunk returns the key of a chunk of an entry.
func (k keys) chunk(key placement.Key, n int) []byte {
	return tuple.AppendInt(k.keyFor(letterEntry, key), int64(n))
}

// rowsAfter returns the range of all rows after that of a key.
func (k keys) rowsAfter(after placement.Key) kv.KeyRange {
	r := kv.PrefixRange(tuple.AppendString(bytes.Clone(k.prefix), letterRow))
	if after != (placement.Key{}) {
		r.Begin = append(k.row(after), 0x00)
	}
	return r
}

// keyOf returns the placement key of a row's key.
func (k keys) keyOf(row []byte) (key placement.Key, err error) {
	letter, rest, err := tuple.ReadString(bytes.TrimPrefix(row, k.prefix))
	if err == nil {
		key.Kind, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		key.ID, rest, err = tuple.ReadString(rest)
	}
	if err == nil && (letter != letterRow || len(rest) > 0) {
		err = fmt.Errorf("%d bytes follow", len(rest))
	}
	if err != nil {
		return key, corruptError(row, err)
	}
	return key, nil
}

// readRow reads the row of a key.
func (k keys) readRow(ctx context.Context, tx kv.ReadTransaction, key placement.Key) (Row, error) {
	at := k.row(key)
	value, err := tx.Get(at).Get(ctx)
	if err != nil {
		return Row{Key: key}, err
	}
	return decodeRow(key, at, value)
}

// readBoth reads the row of a key, and its entry without the snapshot: the zero entry if there
// is none.
func (k keys) readBoth(ctx context.Context, tx kv.ReadTransaction, key placement.Key) (Row, core.ActivationEntry, error) {
	if k.prefix == nil {
		return Row{Key: key}, core.ActivationEntry{}, nil
	}
	first := tx.Get(k.chunk(key, 0))
	row, err := k.readRow(ctx, tx, key)
	if err != nil {
		return row, core.ActivationEntry{}, err
	}
	value, err := first.Get(ctx)
	if err != nil || value == nil {
		return row, core.ActivationEntry{}, err
	}
	entry, _, _, err := decodeHead(value)
	if err != nil {
		err = corruptError(k.chunk(key, 0), err)
	}
	return row, entry, err
}

// freeRow frees a row, and removes the entry if it is that of the row's claim.
func (k keys) freeRow(tx kv.Transaction, row Row, entry core.ActivationEntry) {
	tx.Set(k.row(row.Key), Row{Epoch: row.Epoch}.encode())
	if entry.Owner == row.Owner && entry.Epoch == row.Epoch {
		tx.ClearRange(k.entry(row.Key))
	}
}

func (k keys) decodeRows(pairs []kv.KeyValue) ([]Row, error) {
	rows := make([]Row, 0, len(pairs))
	for _, pair := range pairs {
		key, err := k.keyOf(pair.Key)
		if err != nil {
			return nil, err
		}
		row, err := decodeRow(key, bytes.Clone(pair.Key), pair.Value)
		if err != nil {
			row = Row{Key: key, Err: err}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// startEntry begins to read all chunks of an entry.
func (k keys) startEntry(tx kv.ReadTransaction, key placement.Key) kv.RangeResult {
	return tx.GetRange(k.entry(key).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
}

// joinEntry waits for the chunks of an entry, and returns nil if there is none.
func (k keys) joinEntry(ctx context.Context, key placement.Key, chunks kv.RangeResult) (*core.ActivationEntry, error) {
	pairs, err := chunks.Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	e, err := DecodeEntry(join(pairs))
	if err != nil {
		return nil, corruptError(k.chunk(key, 0), err)
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
		size := min(EntryChunk, len(b))
		tx.Set(k.chunk(key, n), b[:size])
		b = b[size:]
	}
}

// checkStored checks whether an attempt of unknown outcome has stored the entry before
// another owner claimed the key. The entry stays until that owner stores its own: a claim
// removes no entry.
func (k keys) checkStored(ctx context.Context, tx kv.ReadTransaction, row Row, lease core.Lease, encoded []byte) error {
	pairs, err := k.startEntry(tx, lease.Key).Slice(ctx)
	if err != nil || bytes.Equal(join(pairs), encoded) {
		return err
	}
	found := core.ActivationEntry{}
	if len(pairs) > 0 {
		if found, _, _, err = decodeHead(pairs[0].Value); err != nil {
			return corruptError(k.chunk(lease.Key, 0), err)
		}
	}
	if row.Epoch == lease.Epoch+1 && !row.Free() && found.Epoch <= lease.Epoch {
		return staleError(row)
	}
	return fmt.Errorf("%w, and the key has been claimed or given back since", kv.ErrOutcomeUnknown)
}
