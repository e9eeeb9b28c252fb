// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Keys are the keys of what is known of a directory.
type Keys struct {
	Settings []byte // ("settings")
	Records  []byte // ("records"): how many records there are, 8 bytes little-endian
	Bytes    []byte // ("bytes"): how many bytes their values have, 8 bytes little-endian
	Counted  []byte // ("counted"): the key up to which records are counted, while they are
}

// KeysOf returns the keys in the annotation of a directory.
func KeysOf(annotation tuple.Subspace) Keys {
	key := func(name string) []byte { return annotation.Sub(name).Bytes() }
	return Keys{Settings: key("settings"), Records: key("records"), Bytes: key("bytes"), Counted: key("counted")}
}

// ClearUsage clears the counters and how far they reach.
func (k Keys) ClearUsage(tx kv.Transaction) {
	tx.Clear(k.Records)
	tx.Clear(k.Bytes)
	tx.Clear(k.Counted)
}

// Usage is how much a directory holds.
type Usage struct{ Records, Bytes int64 }

// AddUsage adds to the counters. It reads nothing and conflicts with nothing.
func (k Keys) AddUsage(tx kv.Transaction, u Usage) {
	if u.Records != 0 {
		tx.Atomic(kv.Add, k.Records, kv.Int64(u.Records))
	}
	if u.Bytes != 0 {
		tx.Atomic(kv.Add, k.Bytes, kv.Int64(u.Bytes))
	}
}

// Reads are the reads of a directory's usage, under way.
type Reads struct{ records, bytes, counted kv.Future[[]byte] }

// StartReads starts to read the usage, without read conflicts, and while records are
// counted, up to which key they are.
func (k Keys) StartReads(tx kv.ReadTransaction, s State) Reads {
	snapshot := tx.Snapshot()
	r := Reads{records: snapshot.Get(k.Records), bytes: snapshot.Get(k.Bytes), counted: kv.Resolved[[]byte](nil, nil)}
	if s == Counting {
		r.counted = snapshot.Get(k.Counted)
	}
	return r
}

// Await returns the usage, and the key up to which records are counted; nil for none.
func (r Reads) Await(ctx context.Context) (u Usage, counted []byte, err error) {
	if u.Records, err = awaitCount(ctx, r.records); err != nil {
		return u, nil, err
	}
	if u.Bytes, err = awaitCount(ctx, r.bytes); err != nil {
		return u, nil, err
	}
	counted, err = r.counted.Get(ctx)
	return u, counted, err
}

func awaitCount(ctx context.Context, f kv.Future[[]byte]) (int64, error) {
	value, err := f.Get(ctx)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: a counter of the directory is damaged: %x", ErrUnreadable, value)
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}
