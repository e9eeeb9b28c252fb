// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// belowTx is a transaction of a database that Below made. What needs no key is
// the inner transaction's own.
type belowTx struct {
	kv.Transaction
	reads belowReads
}

func newBelowTx(tx kv.Transaction, s space) kv.Transaction {
	return belowTx{tx, belowReads{tx, s}}
}

func (t belowTx) Get(key []byte) kv.Future[[]byte]            { return t.reads.Get(key) }
func (t belowTx) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return t.reads.GetKey(sel) }
func (t belowTx) Snapshot() kv.ReadTransaction                { return t.reads.Snapshot() }
func (t belowTx) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	return t.reads.GetEstimatedRangeSizeBytes(r)
}

func (t belowTx) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return t.reads.GetRangeSplitPoints(r, chunkSize)
}

func (t belowTx) GetRange(keys kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return t.reads.GetRange(keys, o)
}

func (t belowTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t belowTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

func (t belowTx) Set(key, value []byte)    { t.Transaction.Set(t.reads.space.in(key), value) }
func (t belowTx) Clear(key []byte)         { t.Transaction.Clear(t.reads.space.in(key)) }
func (t belowTx) ClearRange(r kv.KeyRange) { t.Transaction.ClearRange(t.reads.space.keys(r)) }

func (t belowTx) Atomic(op kv.MutationType, key, operand []byte) {
	inside := t.reads.space.in(key)
	if op == kv.SetVersionstampedKey && len(key) >= 4 { // the offset counts the prefix
		at := inside[len(inside)-4:]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+uint32(len(inside)-len(key)))
	}
	t.Transaction.Atomic(op, inside, operand)
}

func (t belowTx) AddReadConflictRange(r kv.KeyRange) error {
	return t.Transaction.AddReadConflictRange(t.reads.space.keys(r))
}

func (t belowTx) AddReadConflictKey(key []byte) error {
	return t.Transaction.AddReadConflictKey(t.reads.space.in(key))
}

func (t belowTx) AddWriteConflictRange(r kv.KeyRange) error {
	return t.Transaction.AddWriteConflictRange(t.reads.space.keys(r))
}

func (t belowTx) AddWriteConflictKey(key []byte) error {
	return t.Transaction.AddWriteConflictKey(t.reads.space.in(key))
}

func (t belowTx) Watch(key []byte) kv.Future[struct{}] {
	return t.Transaction.Watch(t.reads.space.in(key))
}

// space are the keys from a prefix to its end.
type space struct{ prefix, end string }

// userEnd is where system keys begin; nothing is read or written from there on.
const (
	userEnd = "\xff"
	beyond  = "\xff\xff\xff"
)

// system reports whether a key is left as it is.
func (s space) system(key []byte) bool { return string(key) >= userEnd }

// in returns the inner key of a key.
func (s space) in(key []byte) []byte {
	if s.system(key) {
		return append([]byte(nil), key...)
	}
	return append([]byte(s.prefix), key...)
}

// bound returns the inner key of a key that divides others: where the system
// keys begin, the space ends.
func (s space) bound(key []byte) []byte {
	if string(key) == userEnd {
		return []byte(s.end)
	}
	return s.in(key)
}

// keys returns the inner range of a range. One that goes on into the system keys
// is refused by every engine.
func (s space) keys(r kv.KeyRange) kv.KeyRange {
	if !s.system(r.Begin) && string(r.End) > userEnd {
		r.End = []byte(beyond)
	}
	return kv.KeyRange{Begin: s.bound(r.Begin), End: s.bound(r.End)}
}

func (s space) selector(sel kv.KeySelector) kv.KeySelector {
	sel.Key = s.bound(sel.Key)
	return sel
}

// out returns the key of an inner key: beyond the ends it is the end.
func (s space) out(inner []byte) []byte {
	switch {
	case string(inner) < s.prefix:
		return []byte{}
	case string(inner) >= s.end:
		return []byte(userEnd)
	}
	return inner[len(s.prefix):]
}

// batch returns the batch with outer keys. It changes a copy, because a future may be
// asked more than once.
func (s space) batch(b kv.Batch) kv.Batch {
	b.KVs = slices.Clone(b.KVs)
	for i := range b.KVs {
		b.KVs[i].Key = s.out(b.KVs[i].Key)
	}
	return b
}
