// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

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
func (k keys) readBoth(ctx context.Context, tx kv.ReadTransaction, key placement.Key) (Row, placement.ActivationEntry, error) {
	if k.prefix == nil {
		return Row{Key: key}, placement.ActivationEntry{}, nil
	}
	first := tx.Get(k.chunk(key, 0))
	row, err := k.readRow(ctx, tx, key)
	if err != nil {
		return row, placement.ActivationEntry{}, err
	}
	value, err := first.Get(ctx)
	if err != nil || value == nil {
		return row, placement.ActivationEntry{}, err
	}
	entry, _, _, err := decodeHead(value)
	if err != nil {
		err = &CorruptError{Key: k.chunk(key, 0), Err: err}
	}
	return row, entry, err
}

// freeRow frees a row, and removes the entry if it is that of the row's claim.
func (k keys) freeRow(tx kv.Transaction, row Row, entry placement.ActivationEntry) {
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
