// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// overwriter is a batch with keys that are overwritten when it goes back.
type overwriter struct {
	pairs []kv.KeyValue
	backs int
}

func (o *overwriter) TakeBack() {
	o.backs++
	for _, pair := range o.pairs {
		pair.Key[0] = '!'
	}
}

func TestLentBatchesGoBack(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		source := &rangeSource{keys: []string{"a", "b", "c", "d", "e"}, size: 2}
		var lent []*overwriter
		read := func(o kv.RangeOptions) kv.RangeResult {
			lent, source.requests = nil, nil
			return kv.StreamRange(everything(), o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
				batch, err := source.fetch(req).Get(t.Context())
				o := &overwriter{pairs: batch.KVs}
				lent = append(lent, o)
				return kv.Resolved(batch.LentBy(o), err)
			})
		}
		want, err := read(kv.RangeOptions{Reverse: reverse}).Slice(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, stop := range []int{1, 2, 3, 5} {
			var got []string
			for pair, err := range read(kv.RangeOptions{Reverse: reverse, Lend: true}).All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, string(pair.Key)); len(got) == stop {
					break
				}
			}
			if !slices.Equal(got, keysOf(want)[:stop]) {
				t.Errorf("reverse %v: read %v, want the first %d of %v", reverse, got, stop, keysOf(want))
			}
			for i, o := range lent {
				if o.backs != 1 {
					t.Errorf("reverse %v: batch %d went back %d times before the loop ended after %d pairs, want once", reverse, i, o.backs, stop)
				}
			}
		}
		for _, o := range []kv.RangeOptions{{Reverse: reverse}, {Reverse: reverse, Lend: true}} {
			pairs, err := read(o).Slice(t.Context())
			if err != nil || !slices.Equal(keysOf(pairs), keysOf(want)) {
				t.Errorf("Slice with %+v = %v, %v, want %v", o, keysOf(pairs), err, keysOf(want))
			}
		}
		for range read(kv.RangeOptions{Reverse: reverse}).All(t.Context()) {
		}
		if lent[0].backs != 0 {
			t.Error("a batch went back that the caller did not borrow")
		}
	}
}
