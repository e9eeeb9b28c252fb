// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// merge reads all shards of a range side by side and puts their pairs into one
// order: a k-way merge by a heap of the shards' next pairs (Knuth, The Art of
// Computer Programming, vol. 3, 5.4.1). What it reads ahead of the caller it
// reads as a snapshot; a transaction that writes conflicts with what was handed
// out and the gaps between, as if the range were not scattered.
type merge struct {
	rangeRead
	t      *transaction
	reader kv.ReadTransaction
	lanes  []lane
	asked  []*lane // in this round
	heap   []*lane // those that have pairs; the one with the next pair is the first
	rounds int
	writes int64 // of the transaction, when the lanes were read
}

// lane is the reading of one shard.
type lane struct {
	prefix []byte
	left   kv.KeyRange // what is not read yet; empty at the end
	unseen kv.KeyRange // what the transaction does not conflict with yet
	pairs  []kv.KeyValue
	answer kv.RangeResult
	limit  int // of the answer; 0 if there is none
	took   int // how many pairs the answer had
}

func newMerge(r rangeRead, t *transaction) *merge {
	m := &merge{rangeRead: r, t: t, reader: t.reader, lanes: r.ranges()}
	if t.writer != nil {
		m.reader = t.writer.Snapshot()
	}
	return m
}

// batches yields the pairs until yield returns false.
func (m *merge) batches(ctx context.Context, yield func([]kv.KeyValue, error) bool) {
	for {
		if err := m.read(ctx); err != nil {
			yield(nil, err)
			return
		}
		if m.atEnd() {
			if err := m.conflict(nil); err != nil {
				yield(nil, err)
			}
			return
		}
		pairs := m.next()
		last := m.position(pairs[len(pairs)-1].Key)
		if err := m.conflict(last); err != nil {
			yield(nil, err)
			return
		}
		if !yield(pairs, nil) {
			return
		}
		if m.t.writer != nil && m.t.writes.Load() != m.writes {
			m.forget(last)
		}
	}
}

// read reads on, in one round, in the shards whose next pair is not known, and
// in those that would soon need it.
func (m *merge) read(ctx context.Context) error {
	if m.t.writer != nil {
		m.writes = m.t.writes.Load()
	}
	if !slices.ContainsFunc(m.lanes, func(l lane) bool { return l.dry() }) {
		return nil
	}
	m.asked = m.asked[:0]
	for i := range m.lanes {
		if l := &m.lanes[i]; !l.ended() && 2*len(l.pairs) <= l.took {
			m.ask(l)
		}
	}
	m.rounds++
	for _, l := range m.asked {
		if err := l.wait(ctx, m.options.Reverse); err != nil {
			return err
		}
	}
	return nil
}

func (m *merge) ask(l *lane) {
	o := kv.RangeOptions{Reverse: m.options.Reverse, Mode: m.mode(m.rounds)}
	if 0 < m.expect && m.expect <= wholeBatch {
		o.Limit, o.Mode = share(m.expect, len(m.lanes)), kv.ModeSerial
	}
	l.limit, l.answer = o.Limit, m.reader.GetRange(l.left.Selectors(), o)
	m.asked = append(m.asked, l)
}

// share is how many pairs to ask each of k shards for where n are wanted of all.
// How many of the first n a shard has is as good as Poisson distributed about
// n/k: four standard deviations and a few more suffice but for one query in ten
// thousand with 16 shards, one in two hundred with 256, which then takes another
// round.
func share(n, k int) int {
	mean := float64(n) / float64(k)
	return min(n, int(math.Ceil(mean+4*math.Sqrt(mean)))+3)
}

// wait takes the answer to what was asked for.
func (l *lane) wait(ctx context.Context, reverse bool) error {
	for batch, err := range l.answer.Batches(ctx) {
		if err != nil {
			return err
		}
		l.take(batch, reverse)
		break // the rest is asked for by read
	}
	return nil
}

func (l *lane) take(batch kv.Batch, reverse bool) {
	l.took = len(batch.KVs)
	switch {
	case l.took == 0, !batch.More && (l.limit == 0 || l.took < l.limit):
		l.left.Begin = l.left.End
	case reverse:
		l.left.End = batch.KVs[l.took-1].Key
	default:
		l.left.Begin = kv.KeyAfter(batch.KVs[l.took-1].Key)
	}
	l.pairs = slices.Concat(l.pairs, batch.KVs)
}

// ended reports whether there is nothing more to read.
func (l *lane) ended() bool { return bytes.Compare(l.left.Begin, l.left.End) >= 0 }

// dry reports whether the next pair must be read.
func (l *lane) dry() bool { return len(l.pairs) == 0 && !l.ended() }

func (m *merge) atEnd() bool {
	for i := range m.lanes {
		if l := &m.lanes[i]; len(l.pairs) > 0 || !l.ended() {
			return false
		}
	}
	return true
}

// next returns the pairs that are known to be next, at most as many as there
// are records lacking: the transaction conflicts with all that next returns, and
// each record that lacks needs at least one pair more.
func (m *merge) next() (pairs []kv.KeyValue) {
	n := 0
	m.heap = m.heap[:0]
	for i := range m.lanes {
		if l := &m.lanes[i]; len(l.pairs) > 0 {
			m.heap = append(m.heap, l)
			n += len(l.pairs)
		}
	}
	if m.lacking != nil {
		n = min(n, max(1, m.lacking()))
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	pairs = make([]kv.KeyValue, 0, n)
	for len(pairs) < n {
		l := m.heap[0]
		pairs, l.pairs = append(pairs, l.pairs[0]), l.pairs[1:]
		if l.dry() {
			break
		}
		if len(l.pairs) == 0 {
			m.heap[0] = m.heap[len(m.heap)-1]
			m.heap = m.heap[:len(m.heap)-1]
		}
		m.sink(0)
	}
	if m.expect > 0 {
		m.expect -= len(pairs) // at 0, records have several pairs each, and their number is not known
	}
	return pairs
}

// sink moves the i-th lane of the heap to where it belongs below.
func (m *merge) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.before(m.heap[child+1], m.heap[child]) {
			child++
		}
		if !m.before(m.heap[child], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// before reports whether the next pair of a comes before that of b.
func (m *merge) before(a, b *lane) bool {
	order := bytes.Compare(a.pairs[0].Key[len(a.prefix):], b.pairs[0].Key[len(b.prefix):])
	return order < 0 != m.options.Reverse
}

// conflict makes a transaction that writes conflict with changes of all that
// lies, in any shard, before or at a position, or in the rest of the range.
func (m *merge) conflict(position []byte) error {
	if m.t.writer == nil {
		return nil
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		seen := l.unseen
		last := slices.Concat(l.prefix, position)
		switch {
		case position == nil:
			l.unseen.Begin = l.unseen.End
		case m.options.Reverse:
			seen.Begin, l.unseen.End = last, last
		default:
			seen.End = kv.KeyAfter(last)
			l.unseen.Begin = seen.End
		}
		if bytes.Compare(seen.Begin, seen.End) >= 0 {
			continue
		}
		if err := m.t.writer.AddReadConflictRange(seen); err != nil {
			return err
		}
	}
	return nil
}

// forget gives up what was read ahead of a position, because the transaction
// has written since: the caller deletes what it was yielded, or what would be.
func (m *merge) forget(position []byte) {
	bounds := m.bounds.Resume(position, m.options.Reverse)
	for i := range m.lanes {
		l := &m.lanes[i]
		l.pairs, l.took, l.left = nil, 0, bounds.Range(l.prefix)
	}
}
