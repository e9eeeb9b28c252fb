// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
)

// StreamingMode says how a range read is cut into batches. It does not change the
// result, only how much is fetched at a time.
type StreamingMode int

// The streaming modes.
const (
	// ModeIterator begins with small batches that grow: for callers that may stop early. After
	// the first batch, Slice asks for all the rest.
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
	Limit   int           // the most pairs to read; 0 means all
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

// RangeResult is a range read under way. The first batch is fetched at once, each
// next one when the caller has consumed the batch before. Later batches see the
// writes that the transaction makes in between.
type RangeResult struct {
	fetch func(BatchRequest) Future[Batch] // starts a step
	req   BatchRequest
	first Future[Batch]
}

// StreamRange starts a range read that gets its batches from fetch, which starts one step
// of the read. Engines call it in GetRange. It copies the keys of r, since the caller may
// change them before later batches need them; fetch may keep its request.
func StreamRange(r SelectorRange, o RangeOptions, fetch func(BatchRequest) Future[Batch]) RangeResult {
	r = r.clone()
	req := BatchRequest{SelectorRange: r, RangeOptions: o, Iteration: 1}
	return RangeResult{fetch: fetch, req: req, first: fetch(req)}
}

// Wrap returns a read with batches that pass through wrap, the first one at once and
// the others when they are fetched. Wrappers of engines observe, delay or count the
// steps of a read with it.
func (r RangeResult) Wrap(wrap func(BatchRequest, Future[Batch]) Future[Batch]) RangeResult {
	fetch := r.fetch
	r.fetch = func(req BatchRequest) Future[Batch] { return wrap(req, fetch(req)) }
	r.first = wrap(r.req, r.first)
	return r
}

// First returns the first batch, which is being fetched: one step of a read, for wrappers and
// servers that begin each step as a read of its own.
func (r RangeResult) First() Future[Batch] { return r.first }

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

// advance moves the request past the pairs of a batch and reports whether
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

// Slice returns all pairs of the read. It takes them all, so after the first batch of
// ModeIterator it asks for the rest at once: for as many pairs as the limit still allows
// (ModeExact), and without a limit for as much as possible (ModeWantAll).
func (r RangeResult) Slice(ctx context.Context) ([]KeyValue, error) {
	if r.req.Mode == ModeIterator {
		r.req.Mode = r.req.modeOfRest()
	}
	var all []KeyValue
	for batch, err := range r.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = slices.Clip(batch.KVs) // what lies after them is the engine's
			continue
		}
		all = append(all, batch.KVs...)
	}
	return all, nil
}

// modeOfRest returns the mode for a caller that takes all that is left.
func (o RangeOptions) modeOfRest() StreamingMode {
	if o.Limit > 0 {
		return ModeExact
	}
	return ModeWantAll
}

// KeySelector selects a stored key by its position relative to Key, which need
// not be stored: start at the last key less than Key (or, with OrEqual, less than
// or equal to Key) and move Offset keys forward. Make one with
// [FirstGreaterOrEqual], [FirstGreaterThan], [LastLessOrEqual] or [LastLessThan].
type KeySelector struct {
	Key     []byte
	OrEqual bool
	Offset  int
}

// LastLessThan selects the greatest key less than key.
func LastLessThan(key []byte) KeySelector { return KeySelector{key, false, 0} }

// LastLessOrEqual selects the greatest key less than or equal to key.
func LastLessOrEqual(key []byte) KeySelector { return KeySelector{key, true, 0} }

// FirstGreaterThan selects the least key greater than key.
func FirstGreaterThan(key []byte) KeySelector { return KeySelector{key, true, 1} }

// FirstGreaterOrEqual selects the least key greater than or equal to key.
func FirstGreaterOrEqual(key []byte) KeySelector { return KeySelector{key, false, 1} }

// Add returns the selector moved n keys forward (backward if n is negative).
func (s KeySelector) Add(n int) KeySelector { s.Offset += n; return s }

// String returns the selector as a call of its constructor.
func (s KeySelector) String() string {
	name, extra := "LastLessThan", s.Offset
	switch {
	case s.OrEqual && s.Offset > 0:
		name, extra = "FirstGreaterThan", s.Offset-1
	case s.OrEqual:
		name = "LastLessOrEqual"
	case s.Offset > 0:
		name, extra = "FirstGreaterOrEqual", s.Offset-1
	}
	if extra == 0 {
		return fmt.Sprintf("%s(%q)", name, s.Key)
	}
	return fmt.Sprintf("%s(%q)%+d", name, s.Key, extra)
}

// KeyRange is the keys from Begin (included) to End (excluded).
type KeyRange struct{ Begin, End []byte }

// SelectorRange is a range with selectors as its ends.
type SelectorRange struct{ Begin, End KeySelector }

// Selectors returns r as a selector range.
func (r KeyRange) Selectors() SelectorRange {
	return SelectorRange{FirstGreaterOrEqual(r.Begin), FirstGreaterOrEqual(r.End)}
}

// PrefixRange returns the range of all keys that begin with prefix. The range of
// an empty prefix, or one of 0xff bytes only, has no [PrefixEnd]: it ends at
// "\xff\xff".
func PrefixRange(prefix []byte) KeyRange {
	end, ok := PrefixEnd(prefix)
	if !ok {
		end = []byte{0xff, 0xff}
	}
	return KeyRange{append([]byte(nil), prefix...), end}
}

// PrefixEnd returns the least key greater than every key that begins with
// prefix (FoundationDB's strinc), and false if there is none because prefix is
// empty or holds only 0xff bytes.
func PrefixEnd(prefix []byte) ([]byte, bool) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end, true
		}
	}
	return nil, false
}

// Successor returns the least key greater than key.
func Successor(key []byte) []byte {
	after := make([]byte, len(key)+1)
	copy(after, key)
	return after
}

// KeyValue is one pair of the database.
type KeyValue struct{ Key, Value []byte }

// clone copies the keys, both into one new slice.
func (r SelectorRange) clone() SelectorRange {
	keys := make([]byte, 0, len(r.Begin.Key)+len(r.End.Key))
	keys = append(append(keys, r.Begin.Key...), r.End.Key...)
	border := len(r.Begin.Key)
	r.Begin.Key, r.End.Key = keys[:border:border], keys[border:]
	return r
}

// CheckSizeRange checks the range of [ReadTransaction.GetEstimatedRangeSizeBytes].
// Engines call it.
func CheckSizeRange(r KeyRange) error {
	if bytes.Compare(r.Begin, r.End) > 0 {
		return NewError(CodeInvertedRange, "from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
	}
	return nil
}

// CheckSplitPoints checks the arguments of [ReadTransaction.GetRangeSplitPoints].
// Engines call it, and check themselves whether the keys may be read.
func CheckSplitPoints(r KeyRange, chunkSize int64) error {
	if chunkSize < 1 {
		return NewError(CodeClientInvalidOperation, "chunkSize is %d bytes; it must be positive", chunkSize)
	}
	return CheckSizeRange(r)
}
