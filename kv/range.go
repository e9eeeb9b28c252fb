// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"iter"
	"slices"
)

// StreamingMode says how a range read is cut into batches. It does not change the
// result, only how much is fetched at a time.
type StreamingMode int

// The streaming modes.
const (
	// ModeIterator begins with small batches that grow: for callers that may stop early.
	ModeIterator StreamingMode = iota
	// ModeWantAll fetches as much as possible at once.
	ModeWantAll
	// ModeExact fetches Limit pairs in one batch; it needs a Limit.
	ModeExact
	// ModeSmall, ModeMedium and ModeLarge fix the size of a batch.
	ModeSmall
	ModeMedium
	ModeLarge
	// ModeSerial fetches batches of the size with the best throughput for one reader.
	ModeSerial
)

// RangeOptions modify a range read. The zero value reads everything, forward.
type RangeOptions struct {
	Limit   int           // the most pairs to read; 0 is no limit
	Reverse bool          // read from the end to the begin
	Mode    StreamingMode // how to cut the read into batches
}

// BatchRequest is one step of a range read.
type BatchRequest struct {
	SelectorRange
	RangeOptions
	Iteration int // 1 for the first batch of a read; batches of ModeIterator grow with it
}

// Batch is the answer to a BatchRequest: pairs in the order of the read, and
// whether more may follow.
type Batch struct {
	KVs  []KeyValue
	More bool
}

// BatchFunc starts one step of a range read. Each engine supplies one.
type BatchFunc func(BatchRequest) Future[Batch]

// RangeResult is a range read under way. The first batch is fetched at once, each
// next one when the caller has consumed the batch before. Later batches see the
// writes that the transaction makes in between.
type RangeResult struct {
	fetch BatchFunc
	req   BatchRequest
	first Future[Batch]
}

// StreamRange starts a range read that gets its batches from fetch. Engines call
// it in GetRange. It copies the keys of r, since the caller may change them before
// later batches need them; fetch may keep its request.
func StreamRange(r SelectorRange, o RangeOptions, fetch BatchFunc) RangeResult {
	r = r.clone()
	req := BatchRequest{SelectorRange: r, RangeOptions: o, Iteration: 1}
	return RangeResult{fetch: fetch, req: req, first: fetch(req)}
}

// Wrap returns a read whose batches pass through wrap, the first one at once and
// the others when they are fetched. Wrappers of engines observe, delay or count the
// steps of a read with it.
func (r RangeResult) Wrap(wrap func(BatchRequest, Future[Batch]) Future[Batch]) RangeResult {
	fetch := r.fetch
	r.fetch = func(req BatchRequest) Future[Batch] { return wrap(req, fetch(req)) }
	r.first = wrap(r.req, r.first)
	return r
}

// Batches yields the batches of the read.
func (r RangeResult) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		req, next := r.req, r.first
		for {
			batch, err := next.Get(ctx)
			if err != nil {
				yield(Batch{}, err)
				return
			}
			last := !batch.More || !req.advance(batch.KVs)
			if !yield(batch, nil) || last {
				return
			}
			next = r.fetch(req)
		}
	}
}

// advance moves the request behind the pairs of a batch and reports whether
// anything remains to be fetched.
func (req *BatchRequest) advance(kvs []KeyValue) bool {
	if len(kvs) == 0 {
		return false
	}
	last := kvs[len(kvs)-1].Key
	if req.Reverse {
		req.End = FirstGreaterOrEqual(last)
	} else {
		req.Begin = FirstGreaterThan(last)
	}
	req.Iteration++
	if req.Limit <= 0 { // FoundationDB takes -1 for no limit, too
		return true
	}
	req.Limit -= len(kvs)
	return req.Limit > 0
}

// All yields the pairs of the read in order. After an error it stops.
func (r RangeResult) All(ctx context.Context) iter.Seq2[KeyValue, error] {
	return func(yield func(KeyValue, error) bool) {
		for batch, err := range r.Batches(ctx) {
			if err != nil {
				yield(KeyValue{}, err)
				return
			}
			for _, pair := range batch.KVs {
				if !yield(pair, nil) {
					return
				}
			}
		}
	}
}

// Slice returns all pairs of the read.
func (r RangeResult) Slice(ctx context.Context) ([]KeyValue, error) {
	var all []KeyValue
	for batch, err := range r.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = slices.Clip(batch.KVs) // what lies behind them is the engine's
			continue
		}
		all = append(all, batch.KVs...)
	}
	return all, nil
}
