// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// maxRanges is about how many ranges a list has at most: enough that many workers have
// work, and few enough that each of them can read the list.
const maxRanges = 512

// start makes sure that there is a list, if there is anything to build.
func (r *Run) start(ctx context.Context) (found bool, err error) {
	err = r.store.Transact(ctx, func(t Transaction) error {
		found = false
		at, tx := t.Place(), t.KV()
		members, err := at.List.readMembers(ctx, tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(members, at.isBuilding) {
			found = true
			return at.checkMembers(members)
		}
		at.List.clear(tx) // of indexes that were disabled or dropped meanwhile
		found, err = r.begin(ctx, t, at)
		return err
	})
	return found, err
}

// begin brings the disabled indexes to the state building and writes their list. It
// reports whether there are any.
func (r *Run) begin(ctx context.Context, t Transaction, at Place) (found bool, err error) {
	var members []Member
	begins := func(ix *index.Index) bool {
		return ix.State == index.Disabled && (r.options.Begins == nil || r.options.Begins(ix.Definition))
	}
	for i := range at.Indexes {
		if ix := &at.Indexes[i]; begins(ix) {
			ix.Clear(t.KV())
			members = append(members, MemberOf(ix.Definition))
		}
	}
	if len(members) == 0 {
		return false, nil
	}
	if err := t.SetStates(ctx, index.Building, begins); err != nil {
		return false, err
	}
	ranges, err := splitRecords(ctx, t, at.Records, int64(r.options.RangeBytes))
	if err != nil {
		return false, err
	}
	for i := range ranges {
		at.List.writeRange(t.KV(), &ranges[i])
	}
	err = at.List.writeMembers(t.KV(), members)
	Reach(ctx, Listed)
	return true, err
}

// splitRecords divides all keys of records into ranges of about the same size, by the
// engine's estimates.
func splitRecords(ctx context.Context, t Transaction, prefix []byte, least int64) ([]Range, error) {
	all := kv.KeyRange{Begin: prefix, End: append(bytes.Clone(prefix), lastEnd...)}
	size, err := t.KV().GetEstimatedRangeSizeBytes(all).Get(ctx)
	if err != nil {
		return nil, err
	}
	chunk := max(least, size/maxRanges)
	points, err := t.KV().GetRangeSplitPoints(all, chunk).Get(ctx)
	if err != nil {
		return nil, err
	}
	begins := [][]byte{nil}
	for _, point := range points {
		if !bytes.HasPrefix(point, prefix) {
			continue
		}
		begin, ok := t.CutRecord(point)
		if ok && len(begin) <= maxBegin && bytes.Compare(begin, begins[len(begins)-1]) > 0 {
			begins = append(begins, begin)
		}
	}
	return newRanges(begins, size), nil
}

// newRanges returns the ranges that begin at the keys and share the size.
func newRanges(begins [][]byte, size int64) []Range {
	ranges := make([]Range, len(begins))
	for i, begin := range begins {
		end := lastEnd
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		ranges[i] = Range{Begin: begin, End: end, Next: begin, Estimate: max(size/int64(len(begins)), 1)}
	}
	return ranges
}
