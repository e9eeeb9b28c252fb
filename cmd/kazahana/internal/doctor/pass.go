// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// pass is a part of the examination that may take any number of transactions, of one batch
// each.
type pass struct {
	place *place
	store *store // whose header each transaction reads; nil: none
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

// pairsPass returns a pass whose units are pairs.
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
