// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// log is a list in the order of commits.
type log struct{ prefix []byte }

// entry is what a leader writes.
type entry struct {
	rank int64 // of its term
	name string
}

func openLog(ctx context.Context, db kv.Database) (log, error) {
	dir, err := directory.Root().CreateOrOpen(ctx, db, []string{"examples", "election"})
	if err != nil {
		return log{}, err
	}
	prefix, err := dir.Prefix()
	return log{prefix}, err
}

// append writes an entry at the end: its key is the commit's versionstamp.
func (l log) append(ctx context.Context, db kv.Database, e entry) error {
	key := append(append([]byte{}, l.prefix...), make([]byte, kv.VersionstampSize)...)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(l.prefix)))
	value := tuple.AppendString(tuple.AppendInt(nil, e.rank), e.name)
	return db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Atomic(kv.SetVersionstampedKey, key, value)
		return nil
	})
}

// all returns the entries in the order of their commits.
func (l log) all(ctx context.Context, db kv.Database) ([]entry, error) {
	return kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) (all []entry, err error) {
		for pair, err := range tx.GetRange(kv.PrefixRange(l.prefix).Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return nil, err
			}
			rank, rest, err := tuple.ReadInt(pair.Value)
			if err != nil {
				return nil, err
			}
			name, _, err := tuple.ReadString(rest)
			if err != nil {
				return nil, err
			}
			all = append(all, entry{rank, name})
		}
		return all, nil
	})
}

// checkOrder returns an error if an entry follows one of a greater rank.
func checkOrder(all []entry) error {
	for i := range all[1:] {
		if before, e := all[i], all[i+1]; e.rank < before.rank {
			return fmt.Errorf("%s wrote under rank %d after %s had written under rank %d", e.name, e.rank, before.name, before.rank)
		}
	}
	return nil
}
