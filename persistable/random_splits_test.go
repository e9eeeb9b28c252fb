// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// randomSplits is an engine that knows no sizes, and divides ranges of keys at random places:
// at the key in the middle, at a third of the others, and near them, whatever the chunk size.
type randomSplits struct {
	kv.Database
	random *rand.Rand
}

func (r randomSplits) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return r.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(randomSplitsView{tx, r.random}) })
}

// Close leaves the engine to the test that opened it.
func (r randomSplits) Close() error { return nil }

type randomSplitsView struct {
	kv.ReadTransaction
	random *rand.Rand
}

func (v randomSplitsView) Snapshot() kv.ReadTransaction {
	return randomSplitsView{v.ReadTransaction.Snapshot(), v.random}
}

// GetEstimatedRangeSizeBytes is that of an engine that has sampled none of the keys.
func (v randomSplitsView) GetEstimatedRangeSizeBytes(kv.KeyRange) kv.Future[int64] {
	return kv.Resolved[int64](0, nil)
}

func (v randomSplitsView) GetRangeSplitPoints(r kv.KeyRange, _ int64) kv.Future[[][]byte] {
	pairs, err := v.GetRange(r.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	points := [][]byte{r.Begin, r.End}
	for i, pair := range pairs {
		if i == len(pairs)/2 {
			points = append(points, pair.Key)
		}
		if v.random.IntN(3) > 0 {
			continue
		}
		point := slices.Clone(pair.Key)
		switch v.random.IntN(4) {
		case 0:
			point = append(point, byte(v.random.IntN(256)))
		case 1:
			point = point[:len(point)-1-v.random.IntN(3)]
		}
		if bytes.Compare(point, r.Begin) >= 0 && bytes.Compare(point, r.End) < 0 {
			points = append(points, point)
		}
	}
	slices.SortFunc(points, bytes.Compare)
	return kv.Resolved(points, err)
}
