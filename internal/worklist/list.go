// SPDX-License-Identifier: Apache-2.0

package worklist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// List is the ranges of a job in the database: each has the key Prefix, Begin.
type List struct{ Prefix []byte }

// MaxBegin is the length in bytes of the longest key at which a range should begin, so
// that the list's own keys stay within their limit.
const MaxBegin = 1000

// MaxRanges is about how many ranges a list has at most: enough that many workers have
// work, and few enough that each of them can read the list.
const MaxRanges = 512

// Key returns the key of the range that begins at begin.
func (l List) Key(begin []byte) []byte { return append(slices.Clone(l.Prefix), begin...) }

// Keys are the keys of all ranges, the first of which may begin at no bytes.
func (l List) Keys() kv.KeyRange {
	return kv.KeyRange{Begin: l.Prefix, End: append(slices.Clone(l.Prefix), 0xff)}
}

// Read returns the range that begins at a key; nil if there is none.
func (l List) Read(ctx context.Context, tx kv.ReadTransaction, begin []byte) (*Range, error) {
	key := l.Key(begin)
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	return l.Decode(kv.KeyValue{Key: key, Value: value})
}

// ReadAll returns all ranges in their order.
func (l List) ReadAll(ctx context.Context, tx kv.ReadTransaction) ([]Range, error) {
	pairs, err := tx.GetRange(l.Keys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Range, len(pairs))
	for i, pair := range pairs {
		r, err := l.Decode(pair)
		if err != nil {
			return nil, err
		}
		all[i] = *r
	}
	return all, nil
}

// Write writes a range.
func (l List) Write(tx kv.Transaction, r *Range) { tx.Set(l.Key(r.Begin), r.Encode()) }

// Decode reads a pair of the list. The error is a *[DamagedError] if it is not that of a range.
func (l List) Decode(pair kv.KeyValue) (*Range, error) {
	r, err := DecodeRange(pair.Key[len(l.Prefix):], pair.Value)
	if err != nil {
		return nil, &DamagedError{Key: bytes.Clone(pair.Key)}
	}
	return r, nil
}

// DamagedError says that a key of a list has not the value of a range.
type DamagedError struct{ Key []byte }

// Error implements error.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the work list is damaged at the key %q", e.Key)
}

// AllDone reports whether nothing is left of all ranges.
func AllDone(ranges []Range) bool {
	return !slices.ContainsFunc(ranges, func(r Range) bool { return !r.IsDone() })
}

// Range is a part of the keys of a job, from Begin up to but not including End. The job is
// done with those from Begin up to but not including Next.
type Range struct {
	Begin, End, Next []byte
	Worker           []byte        // the worker that has claimed it; empty: none
	Beats            int64         // grows with each change: how other workers see that Worker lives
	Records, Bytes   int64         // of the units that are done; bytes read and written
	Estimate         int64         // of its bytes when the job began, at least 1
	Busy             time.Duration // the time that its workers have spent on it
	Result           []byte        // what the job has found in it; nil: the job keeps none
}

// IsDone reports whether nothing is left.
func (r *Range) IsDone() bool { return bytes.Compare(r.Next, r.End) >= 0 }

// estimatedDone returns how many of the estimated bytes are done.
func (r *Range) estimatedDone() int64 {
	if r.IsDone() {
		return r.Estimate
	}
	return min(r.Bytes, r.Estimate)
}

// mayBeClaimed reports whether a worker may work on the range: it is the worker's own, or
// free, or it has not changed since the worker saw it and found that its claim had
// expired.
func (r *Range) mayBeClaimed(worker []byte, expired *Range) bool {
	switch {
	case len(r.Worker) == 0, bytes.Equal(r.Worker, worker):
		return true
	case expired == nil:
		return false
	}
	return bytes.Equal(r.Worker, expired.Worker) && r.Beats == expired.Beats
}

// Encode returns the value of the range: the tuple (end, next, worker, beats, records,
// bytes, estimate, busy in microseconds), and the result if there is one.
func (r *Range) Encode() []byte {
	b := tuple.AppendBytes(nil, r.End)
	b = tuple.AppendBytes(b, r.Next)
	b = tuple.AppendBytes(b, r.Worker)
	for _, n := range []int64{r.Beats, r.Records, r.Bytes, r.Estimate, r.Busy.Microseconds()} {
		b = tuple.AppendInt(b, n)
	}
	if r.Result != nil {
		b = tuple.AppendBytes(b, r.Result)
	}
	return b
}

var errRange = errors.New("the value is not that of a range of a work list")

// DecodeRange reads the value of the range that begins at begin.
func DecodeRange(begin, value []byte) (*Range, error) {
	r := &Range{Begin: bytes.Clone(begin)}
	if !r.decode(value) {
		return nil, errRange
	}
	return r, nil
}

// decode reads what Encode returned. It reports whether it could.
func (r *Range) decode(b []byte) (ok bool) {
	var err error
	for _, part := range []*[]byte{&r.End, &r.Next, &r.Worker} {
		if *part, b, err = tuple.ReadBytes(b); err != nil {
			return false
		}
	}
	var busy int64
	for _, n := range []*int64{&r.Beats, &r.Records, &r.Bytes, &r.Estimate, &busy} {
		if *n, b, err = tuple.ReadInt(b); err != nil {
			return false
		}
	}
	if r.Busy = time.Duration(busy) * time.Microsecond; len(b) > 0 {
		if r.Result, b, err = tuple.ReadBytes(b); err != nil {
			return false
		}
	}
	return len(b) == 0 && r.Estimate > 0 && bytes.Compare(r.Begin, r.Next) <= 0 && bytes.Compare(r.Next, r.End) <= 0
}

// NewRanges returns the ranges that begin at the keys and share the size. The last one
// ends at end.
func NewRanges(begins [][]byte, end []byte, size int64) []Range {
	ranges := make([]Range, len(begins))
	for i, begin := range begins {
		ranges[i] = Range{Begin: begin, End: end, Next: begin, Estimate: max(size/int64(len(begins)), 1)}
		if i+1 < len(begins) {
			ranges[i].End = begins[i+1]
		}
	}
	return ranges
}

// Split returns where ranges of the keys should begin, by the engine's estimates, and the
// size of all keys. cut returns the part of a point that the ranges are of, and whether a
// range may begin there. The first range begins at first.
func Split(ctx context.Context, tx kv.ReadTransaction, keys kv.KeyRange, least, most int64, first []byte, cut func(point []byte) ([]byte, bool)) (begins [][]byte, size int64, err error) {
	if size, err = tx.GetEstimatedRangeSizeBytes(keys).Get(ctx); err != nil {
		return nil, 0, err
	}
	points, err := tx.GetRangeSplitPoints(keys, max(least, size/most, 1)).Get(ctx)
	if err != nil {
		return nil, 0, err
	}
	begins = [][]byte{first}
	for _, point := range points {
		begin, ok := cut(point)
		if ok && len(begin) <= MaxBegin && bytes.Compare(begin, begins[len(begins)-1]) > 0 {
			begins = append(begins, begin)
		}
	}
	return begins, size, nil
}
