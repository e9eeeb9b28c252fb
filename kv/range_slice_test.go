// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// Slice asks for the rest of a read at once, and otherwise a read keeps its mode.
func TestSliceAsksForTheRestAtOnce(t *testing.T) {
	collect := func(r kv.RangeResult) error {
		_, err := r.Slice(t.Context())
		return err
	}
	iterate := func(r kv.RangeResult) (err error) {
		for _, err = range r.All(t.Context()) {
		}
		return err
	}
	for _, tt := range []struct {
		name    string
		options kv.RangeOptions
		read    func(kv.RangeResult) error
		later   kv.RangeOptions
	}{
		{"a limit", kv.RangeOptions{Limit: 3}, collect, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}},
		{"no limit", kv.RangeOptions{Reverse: true}, collect, kv.RangeOptions{Reverse: true, Mode: kv.ModeWantAll}},
		{"FoundationDB's number for no limit", kv.RangeOptions{Limit: -1}, collect, kv.RangeOptions{Limit: -1, Mode: kv.ModeWantAll}},
		{"a mode asked for", kv.RangeOptions{Limit: 3, Mode: kv.ModeSmall}, collect, kv.RangeOptions{Limit: 1, Mode: kv.ModeSmall}},
		{"pair after pair", kv.RangeOptions{Limit: 3}, iterate, kv.RangeOptions{Limit: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &rangeSource{keys: []string{"a", "b", "c", "d"}, size: 2}
			if err := tt.read(kv.StreamRange(everything(), tt.options, source.fetch)); err != nil {
				t.Fatal(err)
			}
			if got := source.requests[0].RangeOptions; got != tt.options {
				t.Errorf("the first batch was asked for with %+v, want %+v", got, tt.options)
			}
			if got := source.requests[1].RangeOptions; got != tt.later {
				t.Errorf("the second batch was asked for with %+v, want %+v", got, tt.later)
			}
		})
	}
}

// TestSliceAllocations reads many batches: the slice of all pairs grows a few times, and
// not with each batch.
func TestSliceAllocations(t *testing.T) {
	const batches = 1000
	memory := make([]kv.KeyValue, 2)
	read := kv.StreamRange(everything(), kv.RangeOptions{}, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return kv.Resolved(kv.Batch{KVs: memory[:1], More: req.Iteration < batches}, nil)
	})

	each := testing.AllocsPerRun(10, func() {
		for range read.Batches(t.Context()) {
		}
	})
	all := testing.AllocsPerRun(10, func() {
		if pairs, err := read.Slice(t.Context()); err != nil || len(pairs) != batches {
			t.Errorf("%d pairs, %v", len(pairs), err)
		}
	})
	if all-each > 50 {
		t.Errorf("the slice of %d batches was allocated %v times", batches, all-each)
	}
	if memory[1].Key != nil {
		t.Error("the slice was put into the memory after the first batch")
	}
}

// An engine's batch may be shared between readers: Slice must not grow it in place.
func TestSliceDoesNotWriteIntoABatch(t *testing.T) {
	shared := make([]kv.KeyValue, 1, 8)
	shared[0] = kv.KeyValue{Key: []byte("a")}
	fetch := func(req kv.BatchRequest) kv.Future[kv.Batch] {
		if req.Iteration == 1 {
			return kv.Resolved(kv.Batch{KVs: shared, More: true}, nil)
		}
		return kv.Resolved(kv.Batch{KVs: []kv.KeyValue{{Key: []byte("b")}}}, nil)
	}
	if _, err := kv.StreamRange(everything(), kv.RangeOptions{}, fetch).Slice(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hidden := shared[:2][1].Key; hidden != nil {
		t.Errorf("Slice wrote %q after the engine's batch", hidden)
	}
}
