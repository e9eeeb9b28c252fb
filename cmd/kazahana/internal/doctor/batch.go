// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// The bounds of what one transaction examines. A batch ends with the unit that reaches one
// of them; reads of further ones, which overlap with it, are dropped.
const (
	batchUnits = 1000
	batchGets  = 2000
	batchBytes = 2 << 20
	batchTime  = time.Second // a version can be read for five
)

// batch is what one transaction reads and finds. A unit is what it examines whole: a pair
// with what it refers to, or a record with its chunks and entries.
type batch struct {
	tx       kv.ReadTransaction
	now      func() time.Time
	deadline time.Time
	most     int // units
	units    int // that were begun
	done     int
	gets     int
	read     int    // bytes
	waiting  []unit // begun, and not done

	findings      []Finding
	records, keys int64
	entries       int64
	bytes         int64 // of records
	after         []func()
}

// unit is one unit of a pass. Its reads are under way.
type unit struct {
	begin  []byte
	finish awaitFunc
}

// awaitFunc waits for reads, and examines what they return.
type awaitFunc func(ctx context.Context) error

func newBatch(tx kv.ReadTransaction, most int, now func() time.Time) *batch {
	return &batch{tx: tx, now: now, deadline: now().Add(batchTime), most: most}
}

// then calls fn when the transaction has ended: fn may change what is outside of it, which
// an attempt that is repeated must not.
func (b *batch) then(fn func()) { b.after = append(b.after, fn) }

// report adds a finding.
func (b *batch) report(f Finding) { b.findings = append(b.findings, f) }

// isSpent reports whether the transaction has read enough, or for long enough.
func (b *batch) isSpent() bool { return b.read >= batchBytes || !b.now().Before(b.deadline) }

// isFull reports whether the next unit belongs into another transaction.
func (b *batch) isFull() bool { return b.units >= b.most || b.gets >= batchGets || b.isSpent() }

// half returns half of the units that the batch has begun with; of those that it might,
// if it has come to none.
func (b *batch) half() int {
	if b.units > 0 {
		return max(min(b.units, b.most)/2, 1)
	}
	return max(b.most/2, 1)
}

// get starts to read a key.
func (b *batch) get(key []byte) kv.Future[[]byte] {
	b.gets++
	return b.tx.Get(key)
}

// await waits for a read.
func (b *batch) await(ctx context.Context, f kv.Future[[]byte]) ([]byte, error) {
	value, err := f.Get(ctx)
	b.read += len(value)
	return value, err
}

// value reads a key.
func (b *batch) value(ctx context.Context, key []byte) ([]byte, error) {
	return b.await(ctx, b.get(key))
}

// pairs reads a range.
func (b *batch) pairs(ctx context.Context, r kv.KeyRange, o kv.RangeOptions) iter.Seq2[kv.KeyValue, error] {
	return func(yield func(kv.KeyValue, error) bool) {
		for pair, err := range b.tx.GetRange(r.Selectors(), o).All(ctx) {
			b.read += len(pair.Key) + len(pair.Value)
			if !yield(pair, err) {
				return
			}
		}
	}
}

// first reads the first pair of a range; its key is nil if there is none.
func (b *batch) first(ctx context.Context, r kv.KeyRange) (first kv.KeyValue, err error) {
	for pair, err := range b.pairs(ctx, r, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}) {
		return kv.KeyValue{Key: bytes.Clone(pair.Key), Value: bytes.Clone(pair.Value)}, err
	}
	return first, nil
}

// overlap is how many units may wait for their reads: few until it is known how much they
// read.
func (b *batch) overlap() int {
	const first, most = 8, 128
	return max(1, min(b.done+first, most, batchBytes*max(b.gets, 1)/max(b.read, 1)))
}

// settle finishes units that wait, the oldest first, until only so many are left, or the
// transaction has read enough.
func (b *batch) settle(ctx context.Context, left int) error {
	for len(b.waiting) > left && (b.done == 0 || !b.isSpent()) {
		u := b.waiting[0]
		b.waiting = b.waiting[1:]
		if err := u.finish(ctx); err != nil {
			return err
		}
		b.done++
	}
	return nil
}

// eachUnit examines units until the batch is full, at least one. examine starts the reads of
// a unit, which overlap with those of others, and returns what waits for them, counts and
// reports; bounds returns where the unit begins and ends. The result is where the next batch
// begins; nil at the end.
func eachUnit[U any](ctx context.Context, b *batch, units iter.Seq2[U, error], bounds func(U) kv.KeyRange, examine func(U) awaitFunc) (next []byte, err error) {
	for u, err := range units {
		if err != nil {
			return nil, err
		}
		r, gets, left := bounds(u), b.gets, b.overlap()
		b.units++
		b.waiting = append(b.waiting, unit{r.Begin, examine(u)})
		if b.gets == gets {
			left = 0 // it has started no reads
		}
		if err := b.settle(ctx, left); err != nil {
			return nil, err
		}
		if b.isFull() {
			next = r.End
			break
		}
	}
	err = b.settle(ctx, 0)
	if len(b.waiting) > 0 {
		next = b.waiting[0].begin
	}
	return next, err
}

// pass is a part of the examination that may take any number of transactions, of one batch
// each.
type pass struct {
	place *place
	store *store // each transaction reads its header; nil: none
	name  string // of what is examined
	at    []byte // where the next batch begins; nil at the end
	// examine examines units from a position on, until b is full, and returns where the
	// next batch begins; nil at the end.
	examine func(ctx context.Context, b *batch, at []byte) (next []byte, err error)
	// first returns the keys of the first unit from a position on; none if there is none.
	// Without it no unit can be left out alone.
	first func(ctx context.Context, b *batch, at []byte) (unit kv.KeyRange, err error)
}

// isThere reports whether the directory and the store are there, and can be used.
func (p *pass) isThere(ctx context.Context, b *batch) (bool, error) {
	there, err := p.place.exists(ctx, b)
	if err != nil || !there || p.store == nil {
		return there, err
	}
	return p.store.refresh(ctx, b)
}

// notExamined returns the finding of what cannot be read.
func (p *pass) notExamined(key []byte, format string, args ...any) Finding {
	if p.store != nil {
		return p.store.finding(NotExamined, key, format, args...)
	}
	return p.place.finding(NotExamined, key, format, args...)
}

// pairsPass returns a pass over pairs.
func pairsPass(p *place, r kv.KeyRange, begin func(b *batch, pair kv.KeyValue) awaitFunc) pass {
	bounds := func(pair kv.KeyValue) kv.KeyRange {
		return kv.KeyRange{Begin: pair.Key, End: kv.Successor(pair.Key)}
	}
	return pass{
		place: p, name: "the directory's keys", at: r.Begin,
		examine: func(ctx context.Context, b *batch, at []byte) ([]byte, error) {
			pairs := b.pairs(ctx, kv.KeyRange{Begin: at, End: r.End}, kv.RangeOptions{Mode: kv.ModeIterator})
			return eachUnit(ctx, b, pairs, bounds, func(pair kv.KeyValue) awaitFunc { return begin(b, pair) })
		},
		first: func(ctx context.Context, b *batch, at []byte) (unit kv.KeyRange, err error) {
			pair, err := b.first(ctx, kv.KeyRange{Begin: at, End: r.End})
			if err != nil || pair.Key == nil {
				return kv.KeyRange{}, err
			}
			return bounds(pair), nil
		},
	}
}
