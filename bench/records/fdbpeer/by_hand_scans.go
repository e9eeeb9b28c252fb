// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbpeer

import (
	"context"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/bench/records"
)

// WholeCategory returns all users of a category in the order of time.
func (s *byHand) WholeCategory(_ context.Context, category string) ([]records.User, error) {
	return s.readCategory(category, fdb.RangeOptions{})
}

// ScanPage returns the page of so many users in the order of ids with so many pages before
// it. It keeps where the pages begin, as a client has the token of the next page. It reads
// one record more, which tells whether there is a next page.
func (s *byHand) ScanPage(ctx context.Context, before, size int) ([]records.User, error) {
	begin, end := s.users.FDBRangeKeys()
	if before > 0 {
		known, ok := s.pages.Load(before)
		if !ok {
			if _, err := s.ScanPage(ctx, before-1, size); err != nil {
				return nil, err
			}
			known, _ = s.pages.Load(before)
		}
		begin = known.(fdb.Key)
	}
	read, err := s.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		return tr.GetRange(fdb.KeyRange{Begin: begin, End: end}, fdb.RangeOptions{Limit: size + 1}).GetSliceWithError()
	})
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for i, pair := range read.([]fdb.KeyValue) {
		if i == size {
			s.pages.Store(before+1, pair.Key)
			break
		}
		values = append(values, pair.Value)
	}
	return decodeAll(values)
}
