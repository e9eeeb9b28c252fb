// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// List is the work list of a store: the prefix ("S", type, "build") of its keys.
//
//	prefix                    = (1, (key name, layout)…): the indexes that are built
//	prefix, "range", begin…   = a [Range] of the keys of records
//
// The ranges cover all keys of records. The list exists from the transaction that
// brings its indexes to the state building to the one that ends that.
type List struct{ Prefix []byte }

// Member is an index that a list builds.
type Member struct{ KeyName, Layout string }

// MemberOf returns an index as a member of a list.
func MemberOf(d *index.Definition) Member { return Member{d.KeyName(), d.Layout()} }

const listFormat = 1

// maxBegin is the length in bytes of the longest key at which a range begins, so
// that the list's own keys stay within their limit.
const maxBegin = 1000

// lastEnd is after all keys of records.
var lastEnd = []byte{0xff}

func (l List) rangesPrefix() []byte { return tuple.AppendString(slices.Clone(l.Prefix), "range") }

func (l List) rangeKey(begin []byte) []byte { return append(l.rangesPrefix(), begin...) }

// allKeys are the keys of all ranges, the first of which begins at no bytes.
func (l List) allKeys() kv.KeyRange {
	prefix := l.rangesPrefix()
	return kv.KeyRange{Begin: prefix, End: append(slices.Clone(prefix), 0xff)}
}

// clear removes the list.
func (l List) clear(tx kv.Transaction) {
	tx.Clear(l.Prefix)
	tx.ClearRange(l.allKeys())
}

// readMembers returns the indexes of the list; none if there is no list.
func (l List) readMembers(ctx context.Context, tx kv.ReadTransaction) ([]Member, error) {
	value, err := tx.Get(l.Prefix).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	members, err := DecodeMembers(value)
	switch {
	case errors.Is(err, newer.Err):
		return nil, fmt.Errorf("build: the work list of an index build at the key %q: %w", l.Prefix, err)
	case err != nil:
		return nil, l.damage(l.Prefix)
	}
	return members, nil
}

// Has returns a function that reports whether an index is among those that the list
// builds.
func (l List) Has(ctx context.Context, tx kv.ReadTransaction) (func(*index.Definition) bool, error) {
	members, err := l.readMembers(ctx, tx)
	return func(d *index.Definition) bool { return slices.Contains(members, MemberOf(d)) }, err
}

// writeMembers writes the head of the list.
func (l List) writeMembers(tx kv.Transaction, members []Member) error {
	t := tuple.Tuple{int64(listFormat)}
	for _, m := range members {
		t = append(t, tuple.Tuple{m.KeyName, m.Layout})
	}
	value, err := t.Pack()
	if err != nil {
		return err
	}
	tx.Set(l.Prefix, value)
	return nil
}

// readRange returns the range that begins at a key; nil if there is none.
func (l List) readRange(ctx context.Context, tx kv.ReadTransaction, begin []byte) (*Range, error) {
	key := l.rangeKey(begin)
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	return l.decode(kv.KeyValue{Key: key, Value: value})
}

func (l List) writeRange(tx kv.Transaction, r *Range) { tx.Set(l.rangeKey(r.Begin), r.encode()) }

// readRanges returns all ranges in their order.
func (l List) readRanges(ctx context.Context, tx kv.ReadTransaction) ([]Range, error) {
	pairs, err := tx.GetRange(l.allKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Range, len(pairs))
	for i, pair := range pairs {
		r, err := l.decode(pair)
		if err != nil {
			return nil, err
		}
		all[i] = *r
	}
	return all, nil
}

func (l List) decode(pair kv.KeyValue) (*Range, error) {
	r, err := DecodeRange(pair.Key[len(l.rangesPrefix()):], pair.Value)
	if err != nil {
		return nil, l.damage(pair.Key)
	}
	return r, nil
}

func (l List) damage(key []byte) error {
	return fmt.Errorf("build: the work list of an index build is damaged at the key %q: run Indexes().Rebuild for each index that is not readable", key)
}

var (
	errMembers = errors.New("the value does not name the indexes of a work list")
	errRange   = errors.New("the value is not that of a range of a work list")
)

// DecodeMembers reads the head of a list: the indexes that it builds.
func DecodeMembers(value []byte) (all []Member, err error) {
	_, err = newer.ReadFormat(value, listFormat)
	if errors.Is(err, newer.Err) {
		return nil, err
	}
	t, err := tuple.Unpack(value)
	if err != nil || len(t) < 2 || t[0] != int64(listFormat) {
		return nil, errMembers
	}
	for _, element := range t[1:] {
		pair, ok := element.(tuple.Tuple)
		if !ok || len(pair) != 2 {
			return nil, errMembers
		}
		name, ok1 := pair[0].(string)
		layout, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			return nil, errMembers
		}
		all = append(all, Member{name, layout})
	}
	return all, nil
}

// DecodeRange reads the value of the range that begins at begin.
func DecodeRange(begin, value []byte) (*Range, error) {
	r := &Range{Begin: bytes.Clone(begin)}
	if !r.decode(value) {
		return nil, errRange
	}
	return r, nil
}

// Range is a part of the keys of records, from Begin up to but not including End.
// Records from Begin up to but not including Next are done.
type Range struct {
	Begin, End, Next []byte        // what follows the prefix of records
	Worker           []byte        // the worker that has claimed it; empty: none
	Beats            int64         // grows with each change: how other workers see that Worker lives
	Records, Bytes   int64         // of the records that are done; bytes read and written
	Estimate         int64         // of the bytes of its records when the build began, at least 1
	Busy             time.Duration // the time that its workers have spent on it
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

// mayBeClaimed reports whether a worker may fill the range: it is the worker's own, or
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

// encode returns the value of the range: the tuple (end, next, worker, beats, records,
// bytes, estimate, busy in microseconds).
func (r *Range) encode() []byte {
	b := tuple.AppendBytes(nil, r.End)
	b = tuple.AppendBytes(b, r.Next)
	b = tuple.AppendBytes(b, r.Worker)
	for _, n := range []int64{r.Beats, r.Records, r.Bytes, r.Estimate, r.Busy.Microseconds()} {
		b = tuple.AppendInt(b, n)
	}
	return b
}

// decode reads what encode returned. It reports whether it could.
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
	r.Busy = time.Duration(busy) * time.Microsecond
	return len(b) == 0 && r.Estimate > 0 && bytes.Compare(r.Begin, r.Next) <= 0 && bytes.Compare(r.Next, r.End) <= 0
}

// Check is the read of whether a build has done a record.
type Check struct {
	list   List
	suffix []byte
	read   kv.RangeResult
}

// StartCheck starts the read for the record that has the key suffix after the prefix of
// records. The read is a snapshot: it never conflicts.
func (l List) StartCheck(tx kv.ReadTransaction, suffix []byte) Check {
	// Ranges begin at most maxBegin bytes from the prefix: a longer key is in the range
	// of its first bytes.
	last := l.rangeKey(suffix[:min(len(suffix), maxBegin+1)])
	r := kv.KeyRange{Begin: l.rangesPrefix(), End: kv.Successor(last)}
	return Check{l, suffix, tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})}
}

// Wait reports whether the record is done: whether writes maintain its entries in the
// indexes that count each record once.
func (c *Check) Wait(ctx context.Context) (done bool, err error) {
	pairs, err := c.read.Slice(ctx)
	if err != nil {
		return false, err
	}
	if len(pairs) == 0 {
		return false, c.list.damage(c.list.Prefix)
	}
	r, err := c.list.decode(pairs[0])
	if err != nil {
		return false, err
	}
	if bytes.Compare(c.suffix, r.End) >= 0 {
		return false, c.list.damage(pairs[0].Key)
	}
	return bytes.Compare(c.suffix, r.Next) < 0, nil
}
