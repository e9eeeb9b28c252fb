// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// ledger is the list of all changes of all accounts, in the order of their commits. An account
// appends to it in the transaction that changes its record, so that the two cannot differ.
type ledger struct{ prefix []byte }

// entry is a change of an account.
type entry struct {
	Account  string
	Owner    placement.Owner // the process that had the account; zero for its opening
	Epoch    int64           // of the activation
	Transfer idgen.ID
	Amount   int64 // negative: withdrawn
	Balance  int64 // after it
}

func openLedger(ctx context.Context, db kv.Database) (ledger, error) {
	dir, err := directory.Root().CreateOrOpen(ctx, db, []string{"examples", "actors", "ledger"})
	if err != nil {
		return ledger{}, err
	}
	prefix, err := dir.Prefix()
	return ledger{prefix}, err
}

// append adds entries at the end, in order, in a transaction that calls it once: the key of each
// is the versionstamp of the commit and its place in the transaction.
func (l ledger) append(tx kv.Transaction, entries ...entry) {
	for i, e := range entries {
		key := append(append([]byte{}, l.prefix...), make([]byte, kv.VersionstampSize)...)
		key = binary.BigEndian.AppendUint16(key, uint16(i))
		key = binary.LittleEndian.AppendUint32(key, uint32(len(l.prefix)))
		tx.Atomic(kv.SetVersionstampedKey, key, e.encode())
	}
}

// each calls do with all entries, in the order of their commits. A transaction reads a page of
// them.
func (l ledger) each(ctx context.Context, db kv.Database, page int, do func(entry)) error {
	rest := kv.PrefixRange(l.prefix)
	for {
		pairs, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
			return tx.GetRange(rest.Selectors(), kv.RangeOptions{Limit: page}).Slice(ctx)
		})
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			e, err := decodeEntry(pair.Value)
			if err != nil {
				return fmt.Errorf("the entry at %x: %w", pair.Key, err)
			}
			do(e)
		}
		if len(pairs) < page {
			return nil
		}
		rest.Begin = append(pairs[len(pairs)-1].Key, 0)
	}
}

func (e entry) encode() []byte {
	b := tuple.AppendString(tuple.AppendString(nil, e.Account), e.Owner.Name)
	for _, n := range e.numbers() {
		b = tuple.AppendInt(b, *n)
	}
	return b
}

// numbers are the fields of an entry that are stored as integers.
func (e *entry) numbers() []*int64 {
	return []*int64{&e.Owner.Incarnation, &e.Epoch, (*int64)(&e.Transfer), &e.Amount, &e.Balance}
}

func decodeEntry(b []byte) (e entry, err error) {
	if e.Account, b, err = tuple.ReadString(b); err != nil {
		return e, err
	}
	if e.Owner.Name, b, err = tuple.ReadString(b); err != nil {
		return e, err
	}
	for _, n := range e.numbers() {
		if *n, b, err = tuple.ReadInt(b); err != nil {
			return e, err
		}
	}
	return e, nil
}
