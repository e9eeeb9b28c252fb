// SPDX-License-Identifier: Apache-2.0

package scan

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
	Range
	tx      *Transaction
	reader  kv.ReadTransaction
	lanes   []lane
	pending []*lane // read in this round
	heap    []*lane // those that have pairs; the one with the next pair is the first
	rounds  int
	count   int64 // of the transaction's writes, when the lanes were read
}

func newMerge(r Range, tx *Transaction) *merge {
	m := &merge{Range: r, tx: tx, reader: tx.Reader, lanes: r.newLanes()}
	if tx.Writes != nil {
		m.reader = tx.Writer.Snapshot()
	}
	return m
}

// yieldBatches yields the pairs until yield returns false.
func (m *merge) yieldBatches(ctx context.Context, yield func([]kv.KeyValue, error) bool) {
	for {
		if err := m.readAhead(ctx); err != nil {
			yield(nil, err)
			return
		}
		if m.isAtEnd() {
			if err := m.addConflicts(nil); err != nil {
				yield(nil, err)
			}
			return
		}
		pairs := m.takeNext()
		last := m.Position(pairs[len(pairs)-1].Key)
		if err := m.addConflicts(last); err != nil {
			yield(nil, err)
			return
		}
		if !yield(pairs, nil) {
			return
		}
		if m.tx.Writes != nil && m.tx.Count.Load() != m.count {
			m.dropAhead(last)
		}
	}
}

// readAhead reads on, in one round, in the shards with no known next pair, and
// in those that would soon need it.
func (m *merge) readAhead(ctx context.Context) error {
	if m.tx.Writes != nil {
		m.count = m.tx.Count.Load()
	}
	if !slices.ContainsFunc(m.lanes, func(l lane) bool { return l.isDry() }) {
		return nil
	}
	m.pending = m.pending[:0]
	for i := range m.lanes {
		if l := &m.lanes[i]; !l.isAtEnd() && 2*len(l.pairs) <= l.took {
			m.startRead(l)
		}
	}
	m.rounds++
	for _, l := range m.pending {
		if err := l.await(ctx, m.Options.Reverse); err != nil {
			return err
		}
	}
	return nil
}

// startRead starts the next read of a lane.
func (m *merge) startRead(l *lane) {
	o := kv.RangeOptions{Reverse: m.Options.Reverse, Mode: m.nextMode(m.rounds)}
	if 0 < m.Expect && m.Expect <= LargestBatch {
		o.Limit, o.Mode = share(m.Expect, len(m.lanes)), kv.ModeSerial
	}
	l.limit, l.answer = o.Limit, m.reader.GetRange(l.left.Selectors(), o)
	m.pending = append(m.pending, l)
}

// share is how many pairs to ask each of k shards for where n are wanted of all.
// The number of the first n that a shard has is nearly Poisson distributed about
// n/k. Four standard deviations and a few more are too little for one query in ten
// thousand with 16 shards, one in two hundred with 256, which then takes another
// round.
func share(n, k int) int {
	mean := float64(n) / float64(k)
	return min(n, int(math.Ceil(mean+4*math.Sqrt(mean)))+3)
}

func (m *merge) isAtEnd() bool {
	for i := range m.lanes {
		if l := &m.lanes[i]; len(l.pairs) > 0 || !l.isAtEnd() {
			return false
		}
	}
	return true
}

// takeNext returns the pairs that are known to be next, at most as many as there
// are records lacking: the transaction conflicts with all of these pairs, and each
// lacking record needs at least one more.
func (m *merge) takeNext() (pairs []kv.KeyValue) {
	n := 0
	m.heap = m.heap[:0]
	for i := range m.lanes {
		if l := &m.lanes[i]; len(l.pairs) > 0 {
			m.heap = append(m.heap, l)
			n += len(l.pairs)
		}
	}
	if m.Lacking != nil {
		n = min(n, max(1, m.Lacking()))
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
	pairs = make([]kv.KeyValue, 0, n)
	for len(pairs) < n {
		l := m.heap[0]
		pairs, l.pairs = append(pairs, l.pairs[0]), l.pairs[1:]
		if l.isDry() {
			break
		}
		if len(l.pairs) == 0 {
			m.heap[0] = m.heap[len(m.heap)-1]
			m.heap = m.heap[:len(m.heap)-1]
		}
		m.siftDown(0)
	}
	if m.Expect > 0 {
		m.Expect -= len(pairs) // at 0, records have several pairs each, and their number is not known
	}
	return pairs
}

// siftDown moves the i-th lane of the heap to where it belongs below.
func (m *merge) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.isBefore(m.heap[child+1], m.heap[child]) {
			child++
		}
		if !m.isBefore(m.heap[child], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// isBefore reports whether the next pair of a comes before that of b.
func (m *merge) isBefore(a, b *lane) bool {
	order := bytes.Compare(a.pairs[0].Key[len(a.prefix):], b.pairs[0].Key[len(b.prefix):])
	return order < 0 != m.Options.Reverse
}

// addConflicts makes a transaction that writes conflict with changes in any shard
// up to a position, or in the rest of the range if the position is nil.
func (m *merge) addConflicts(position []byte) error {
	if m.tx.Writes == nil {
		return nil
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		seen := l.unseen
		last := slices.Concat(l.prefix, position)
		switch {
		case position == nil:
			l.unseen.Begin = l.unseen.End
		case m.Options.Reverse:
			seen.Begin, l.unseen.End = last, last
		default:
			seen.End = kv.Successor(last)
			l.unseen.Begin = seen.End
		}
		if bytes.Compare(seen.Begin, seen.End) >= 0 {
			continue
		}
		if err := m.tx.Writer.AddReadConflictRange(seen); err != nil {
			return err
		}
	}
	return nil
}

// dropAhead drops what was read after a position, because the transaction has
// written since: the caller may have deleted some of it.
func (m *merge) dropAhead(position []byte) {
	bounds := m.Bounds.Resume(position, m.Options.Reverse)
	for i := range m.lanes {
		l := &m.lanes[i]
		l.pairs, l.took, l.left = nil, 0, bounds.Range(l.prefix)
	}
}

// lane is the read of one shard.
type lane struct {
	prefix []byte
	left   kv.KeyRange // what is not read yet; empty at the end
	unseen kv.KeyRange // what the transaction does not conflict with yet
	pairs  []kv.KeyValue
	answer kv.RangeResult
	limit  int // of the answer; 0 if there is none
	took   int // how many pairs the last answer had
}

// await waits for the answer and takes its pairs.
func (l *lane) await(ctx context.Context, reverse bool) error {
	for batch, err := range l.answer.Batches(ctx) {
		if err != nil {
			return err
		}
		l.addBatch(batch, reverse)
		break // merge.readAhead asks for the rest
	}
	return nil
}

func (l *lane) addBatch(batch kv.Batch, reverse bool) {
	l.took = len(batch.KVs)
	switch {
	case l.took == 0, !batch.More && (l.limit == 0 || l.took < l.limit):
		l.left.Begin = l.left.End
	case reverse:
		l.left.End = batch.KVs[l.took-1].Key
	default:
		l.left.Begin = kv.Successor(batch.KVs[l.took-1].Key)
	}
	l.pairs = slices.Concat(l.pairs, batch.KVs)
}

// isAtEnd reports whether there is nothing more to read.
func (l *lane) isAtEnd() bool { return bytes.Compare(l.left.Begin, l.left.End) >= 0 }

// isDry reports whether the next pair must be read.
func (l *lane) isDry() bool { return len(l.pairs) == 0 && !l.isAtEnd() }
