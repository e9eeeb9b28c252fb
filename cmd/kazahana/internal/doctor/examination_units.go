// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// eachPair calls fn with the pairs of a range, in batches of one transaction each. fn may
// read what they refer to, one after the other.
func (x *examination) eachPair(ctx context.Context, p *place, r kv.KeyRange, fn func(ctx context.Context, b *batch, pair kv.KeyValue) error) error {
	_, err := x.run(ctx, pairsPass(p, r, func(b *batch, pair kv.KeyValue) awaitFunc {
		return func(ctx context.Context) error {
			b.keys++
			return fn(ctx, b, pair)
		}
	}))
	return err
}

// eachStorePair begins to examine the pairs of a range of a store, in batches of one
// transaction each, which reads the header, too. It reports whether it has examined all.
func (x *examination) eachStorePair(ctx context.Context, s *store, r kv.KeyRange, begin func(b *batch, pair kv.KeyValue) awaitFunc) (whole bool, err error) {
	p := pairsPass(s.place, r, begin)
	p.store = s
	return x.run(ctx, p)
}

// eachRecord begins to examine the records of a store, and keys among them that are no
// record's, in batches of one transaction each. It reports whether it has examined all.
func (x *examination) eachRecord(ctx context.Context, s *store, begin func(b *batch, r *record) awaitFunc) (whole bool, err error) {
	r := s.below(letterRecord, s.typ)
	return x.run(ctx, pass{
		place: s.place, store: s, name: "the records", at: r.Begin,
		examine: func(ctx context.Context, b *batch, at []byte) ([]byte, error) {
			records := s.records(ctx, b, kv.KeyRange{Begin: at, End: r.End})
			return eachUnit(ctx, b, records, (*record).bounds, func(r *record) awaitFunc { return begin(b, r) })
		},
		first: func(ctx context.Context, b *batch, at []byte) (unit kv.KeyRange, err error) {
			pair, err := b.first(ctx, kv.KeyRange{Begin: at, End: r.End})
			if err != nil || pair.Key == nil {
				return kv.KeyRange{}, err
			}
			return s.recordOf(pair.Key).bounds(), nil
		},
	})
}
