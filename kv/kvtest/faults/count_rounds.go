// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// rounds finds the read rounds of one transaction: a round is open from the
// first read that is started until one of its reads is waited for.
type rounds struct {
	counter *Counter

	mu      sync.Mutex
	current int // the number of the open round, or of the last one
	open    bool
}

// start puts a read into the open round or opens one, and returns its number.
func (r *rounds) start() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		r.open = true
		r.current++
		r.counter.add(func(n *Counts) { n.Rounds++ })
	}
	return r.current
}

// wait closes the round if it is the open one.
func (r *rounds) wait(round int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if round == r.current {
		r.open = false
	}
}

// close ends the open round: an attempt of the transaction is over.
func (r *rounds) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = false
}

// countedRead is a read's future that looks pending, so that asking for its
// result is seen.
type countedRead[T any] struct {
	kv.Future[T]
	rounds *rounds
	round  int
}

// counted puts a started read into a round.
func counted[T any](r *rounds, future kv.Future[T]) kv.Future[T] {
	return kv.NewFuture[T](countedRead[T]{future, r, r.start()})
}

// Done implements [kv.PendingResult].
func (c countedRead[T]) Done() <-chan struct{} {
	c.rounds.wait(c.round)
	return c.Future.Done()
}

// Result implements [kv.PendingResult].
func (c countedRead[T]) Result() (T, error) { return c.Get(context.Background()) }

// countedView counts the reads of a transaction or of its snapshot.
type countedView struct {
	rounds *rounds
	view   kv.ReadTransaction
}

func (v countedView) add(change func(*Counts)) { v.rounds.counter.add(change) }

// Get implements [kv.ReadTransaction].
func (v countedView) Get(key []byte) kv.Future[[]byte] {
	if string(key) == kv.MetadataVersionKey {
		v.add(func(n *Counts) { n.Free++ })
		return v.view.Get(key)
	}
	v.add(func(n *Counts) { n.Gets++ })
	return counted(v.rounds, v.view.Get(key))
}

// GetKey implements [kv.ReadTransaction].
func (v countedView) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	v.add(func(n *Counts) { n.Gets++ })
	return counted(v.rounds, v.view.GetKey(sel))
}

// GetRange implements [kv.ReadTransaction].
func (v countedView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	v.add(func(n *Counts) { n.Ranges++ })
	return v.view.GetRange(r, o).Wrap(func(_ kv.BatchRequest, batch kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		v.add(func(n *Counts) { n.Batches++ })
		return counted(v.rounds, batch)
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (v countedView) GetReadVersion() kv.Future[int64] {
	v.add(func(n *Counts) { n.Free++ })
	return v.view.GetReadVersion()
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v countedView) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	v.add(func(n *Counts) { n.Gets++ })
	return counted(v.rounds, v.view.GetEstimatedRangeSizeBytes(r))
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v countedView) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	v.add(func(n *Counts) { n.Gets++ })
	return counted(v.rounds, v.view.GetRangeSplitPoints(r, chunkSize))
}

// Snapshot implements [kv.ReadTransaction].
func (v countedView) Snapshot() kv.ReadTransaction { return countedView{v.rounds, v.view.Snapshot()} }

// ReadTransact implements [kv.ReadTransactor].
func (v countedView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}
