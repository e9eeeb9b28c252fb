// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// fakeEngine is an engine of one view that never changes. It accepts each commit
// and forgets it, at once or when it is driven.
type fakeEngine struct {
	view    *fakeView
	age     error // why no version can be read any more
	table   watch.Table
	retries int
	queues  bool  // commits wait for Drive
	outcome error // of each commit

	mu     sync.Mutex
	queued []*txn.Request // that wait
	drives int
}

var _ Engine = (*fakeEngine)(nil)

func (e *fakeEngine) Newest() View               { return e.view.acquire() }
func (e *fakeEngine) At(int64) (View, error)     { return e.view.acquire(), nil }
func (e *fakeEngine) CheckAge(int64) error       { return e.age }
func (e *fakeEngine) Closed() bool               { return false }
func (e *fakeEngine) Start(t reads.Task)         { go t.Run() }
func (e *fakeEngine) Arm(watches []*watch.Watch) { e.table.Arm(e.newest, watches, e.Start) }

func (e *fakeEngine) Sample(kv.KeyRange) iter.Seq2[[]byte, int64] {
	return func(func([]byte, int64) bool) {}
}
func (e *fakeEngine) CountRetry()        { e.retries++ }
func (e *fakeEngine) newest() watch.View { return e.view.acquire() }
func (e *fakeEngine) NewWatch(key, value []byte) (*watch.Watch, error) {
	return e.table.Add(key, value)
}

// Commit implements [Engine].
func (e *fakeEngine) Commit(r *txn.Request) {
	if !e.queues {
		e.finish(r)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queued = append(e.queued, r)
}

// Drive implements [Engine].
func (e *fakeEngine) Drive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drives++
	for _, r := range e.queued {
		e.finish(r)
	}
	e.queued = nil
}

func (e *fakeEngine) finish(r *txn.Request) {
	r.Finisher.Finish(txn.Outcome{Version: e.view.version + 1, Err: e.outcome})
}

// fakeView is a view of pairs in a slice. A cold one has nothing in memory.
type fakeView struct {
	version int64
	pairs   []kv.KeyValue // in order
	cold    bool
	hook    func() // called by LookUp, if not nil

	prefetches int          // how often Prefetch was called
	readers    atomic.Int64 // that were not released
}

var _ View = (*fakeView)(nil)

func newFakeView(contents map[string]string, cold bool) *fakeView {
	v := &fakeView{version: 1000, cold: cold}
	for _, key := range sortedKeys(contents) {
		v.pairs = append(v.pairs, kv.KeyValue{Key: []byte(key), Value: []byte(contents[key])})
	}
	return v
}

// floor returns how many pairs are below key.
func (v *fakeView) acquire() *fakeView {
	v.readers.Add(1)
	return v
}

func (v *fakeView) floor(key []byte) int {
	n, _ := slices.BinarySearchFunc(v.pairs, key, func(p kv.KeyValue, key []byte) int { return slices.Compare(p.Key, key) })
	return n
}

func (v *fakeView) Version() int64   { return v.version }
func (v *fakeView) Release()         { v.readers.Add(-1) }
func (v *fakeView) Metadata() []byte { return nil }
func (v *fakeView) InMemory() bool   { return !v.cold }

func (v *fakeView) Prefetch([][]byte) { v.prefetches++ }

func (v *fakeView) LookUp(key []byte) (value []byte, ok bool, t reads.Ticket, err error) {
	if v.hook != nil {
		v.hook()
	}
	t = reads.Ticket{Valid: true, Hash: uint64(len(key))}
	if v.cold {
		return nil, false, t, nil
	}
	value, err = v.Get(key)
	return value, true, reads.Ticket{}, err
}

func (v *fakeView) Fetch(t reads.Ticket, key []byte) ([]byte, error) {
	if t != (reads.Ticket{Valid: true, Hash: uint64(len(key))}) {
		return nil, fmt.Errorf("Fetch of %q with the ticket %v, which is of another key", key, t)
	}
	return v.Get(key)
}

func (v *fakeView) Get(key []byte) ([]byte, error) {
	if i := v.floor(key); i < len(v.pairs) && string(v.pairs[i].Key) == string(key) {
		return v.pairs[i].Value, nil
	}
	return nil, nil
}

func (v *fakeView) NewScan(b *reads.Budget) Scan { return &fakeScan{view: v, budget: b} }

// Collect implements [View].
func (v *fakeView) Collect(begin, end []byte, reverse bool, r *reads.Builder, b *reads.Budget) (full bool, err error) {
	if bytes.Compare(begin, end) > 0 {
		return false, fmt.Errorf("Collect of the inverted range [%q, %q)", begin, end)
	}
	pairs := slices.Clone(v.pairs[v.floor(begin):max(v.floor(begin), v.floor(end))])
	if reverse {
		slices.Reverse(pairs)
	}
	for _, p := range pairs {
		if err := b.Step(); err != nil {
			return false, err
		}
		if r.AddCopy(p.Key, p.Value) {
			return true, nil
		}
	}
	return false, nil
}

// fakeScan is a scan of a fakeView.
type fakeScan struct {
	view   *fakeView
	budget *reads.Budget
	at     int
	err    error
}

func (s *fakeScan) Seek(from []byte) (key, value []byte, ok bool) {
	return s.moveTo(s.view.floor(from))
}
func (s *fakeScan) Next() (key, value []byte, ok bool) { return s.moveTo(s.at + 1) }
func (s *fakeScan) SeekBelow(end []byte) (key, value []byte, ok bool) {
	return s.moveTo(s.view.floor(end) - 1)
}
func (s *fakeScan) Err() error   { return s.err }
func (s *fakeScan) Close() error { return s.err }

func (s *fakeScan) moveTo(i int) (key, value []byte, ok bool) {
	if s.err == nil {
		s.err = s.budget.Step()
	}
	if s.at = i; s.err != nil || i < 0 || i >= len(s.view.pairs) {
		return nil, nil, false
	}
	return s.view.pairs[i].Key, s.view.pairs[i].Value, true
}
