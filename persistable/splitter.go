// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// splitter divides a range of records or of entries. All keys are without prefix and
// shard, so that a part of a scattered range is read in all shards.
type splitter struct {
	keys      scan.Keyspace
	bounds    index.Bounds
	ofRecords bool // whose chunks have keys of their own
}

func newSplitter(o *openStore, p *plan, b index.Bounds) *splitter {
	return &splitter{keys: o.keysOf(p), bounds: b, ofRecords: p.Index == byID}
}

// points returns the keys at which the second and each later one of at most n parts
// begins, in order.
func (s *splitter) points(ctx context.Context, tx kv.ReadTransaction, n int) ([][]byte, error) {
	if n == 1 {
		return nil, nil
	}
	ranges := s.keys.RangesOf(s.bounds)
	chunks, err := chunkSizes(ctx, tx, ranges, n)
	if err != nil {
		return nil, err
	}
	asked := make([]kv.Future[[][]byte], len(ranges))
	for i, r := range ranges {
		asked[i] = tx.GetRangeSplitPoints(r, chunks[i])
	}
	var all [][]byte
	for i, answer := range asked {
		points, err := answer.Get(ctx)
		if err != nil {
			return nil, err
		}
		for _, point := range points {
			all = s.appendPoint(all, ranges[i], point)
		}
	}
	slices.SortFunc(all, bytes.Compare)
	return pickPoints(all, n), nil
}

// pointsPerPart is about how many points the engine gives for each part, so that parts of
// points have about the same size.
const pointsPerPart = 4

// chunkSizes returns the size of what is between two points of each range. Each shard has
// as many points as a range that is not scattered, because each part reads all shards.
func chunkSizes(ctx context.Context, tx kv.ReadTransaction, ranges []kv.KeyRange, n int) ([]int64, error) {
	sizes := make([]kv.Future[int64], len(ranges))
	for i, r := range ranges {
		sizes[i] = tx.GetEstimatedRangeSizeBytes(r)
	}
	chunks := make([]int64, len(ranges))
	for i := range sizes {
		size, err := sizes[i].Get(ctx)
		if err != nil {
			return nil, err
		}
		chunks[i] = max(size/pointsPerPart/int64(n), 1)
	}
	return chunks, nil
}

// appendPoint appends the key of a point within a range. A point among the chunks of a
// record becomes the key of the record, so that no part begins with a piece of one.
func (s *splitter) appendPoint(all [][]byte, r kv.KeyRange, point []byte) [][]byte {
	if bytes.Compare(point, r.Begin) <= 0 || bytes.Compare(point, r.End) >= 0 {
		return all
	}
	key := s.keys.Suffix(point)
	if s.ofRecords {
		rest, err := tuple.Skip(key)
		if err != nil {
			return all // no key of a record begins with it
		}
		key = key[:len(key)-len(rest)]
	}
	if within := s.bounds.Range(nil); bytes.Compare(key, within.Begin) <= 0 {
		return all
	}
	return append(all, slices.Clone(key))
}

// pickPoints returns at most n-1 of the points, at equal distances, each once.
func pickPoints(all [][]byte, n int) (picked [][]byte) {
	if len(all) < n {
		return slices.CompactFunc(all, bytes.Equal)
	}
	for i := range n - 1 {
		picked = append(picked, all[(i+1)*(len(all)+1)/n-1])
	}
	return slices.CompactFunc(picked, bytes.Equal)
}
