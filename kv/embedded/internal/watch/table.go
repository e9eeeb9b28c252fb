// SPDX-License-Identifier: Apache-2.0

// Package watch holds the watches of a database.
//
// A transaction makes a watch with [Table.Add] and gives it to its commit. When that
// has succeeded, the committer arms it with [Table.Arm]. From then on each batch of
// commits calls [Table.FireChanged] after it is published. A watch fires if its key
// has another value than the transaction saw; a change that is undone may be missed.
package watch

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// Table holds the armed watches of a database and counts all that are not over.
// The zero value is ready to use. It is safe for concurrent use.
//
//  1. mu guards the table, and of each watch what says so. It is held to change the
//     table only: values are read, and watches finished, without it.
//  2. Arm puts a watch into the table before it reads the newest view. So a commit
//     that was published before is in that view, and one that is published later
//     finds the watch.
type Table struct {
	mu     sync.Mutex
	keys   btree.Tree[watchSet]
	closed error        // why no watch is armed any more
	armed  atomic.Int64 // watches in keys
	count  atomic.Int64 // watches that are neither finished nor released
}

// watchSet are the armed watches on one key.
type watchSet map[*Watch]struct{}

// View is the database at one version, until it is released.
type View interface {
	Version() int64
	Release()

	// Get returns the value of key, nil for none. It may wait for the disk.
	Get(key []byte) ([]byte, error)

	// LookUp is Get if memory has the value: then ok is true. It does not wait.
	LookUp(key []byte) (value []byte, ok bool, t reads.Ticket, err error)
}

// Count returns how many watches are neither finished nor released.
func (t *Table) Count() int64 { return t.count.Load() }

// Add makes a watch that is not armed, and keeps key and value. It fails with
// kv.CodeTooManyWatches if kv.MaxWatches are not finished.
func (t *Table) Add(key, value []byte) (*Watch, error) {
	if t.count.Add(1) > kv.MaxWatches {
		t.count.Add(-1)
		return nil, kv.NewError(kv.CodeTooManyWatches, "%d watches are outstanding; cancel some", kv.MaxWatches)
	}
	w := &Watch{table: t, promise: kv.NewPromise[struct{}](), Key: key, Value: value}
	w.counted.Store(true)
	return w, nil
}

// Arm puts watches into the table. newest returns the newest view that is published: a watch
// fires if its key has another value there. Arm does not wait: if memory does not have the
// value, a task reads it, which Arm gives to start.
func (t *Table) Arm(newest func() View, watches []*Watch, start func(reads.Task)) {
	if len(watches) == 0 {
		return
	}
	published := newest()
	displaced, err := t.enter(watches, published.Version())
	published.Release()
	if err != nil {
		finishAll(watches, err)
		return
	}
	finishAll(displaced, nil)
	v := newest()
	defer v.Release()
	for _, w := range watches {
		if value, ok, _, err := v.LookUp(w.Key); ok || err != nil {
			w.compare(value, err)
		} else {
			start(&comparison{w, newest})
		}
	}
}

// comparison compares an armed watch with the newest value of its key.
type comparison struct {
	watch  *Watch
	newest func() View
}

// Run implements [reads.Task].
func (c *comparison) Run() {
	v := c.newest()
	defer v.Release()
	c.watch.compare(v.Get(c.watch.Key))
}

// enter puts watches into the table, unless it is closed. Commits up to a version,
// which is published, do not fire them: Arm compares the values that those have
// left. It returns the watches that were displaced, for the caller to fire.
func (t *Table) enter(watches []*Watch, published int64) (displaced []*Watch, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed != nil {
		return nil, t.closed
	}
	for _, w := range watches {
		if w.armed {
			continue
		}
		if w.finished() {
			displaced = append(displaced, t.displace(w)...)
			continue
		}
		set := t.keys.Get(w.Key)
		if set == nil {
			t.keys.Set(w.Key, watchSet{w: {}})
		} else {
			(*set)[w] = struct{}{}
		}
		w.armed, w.since = true, published
		t.armed.Add(1)
	}
	return displaced, nil
}

// displace disarms the watches on the key of w that have another value than w, and
// returns them. A write of the transaction that made w has fired w before the
// commit. FoundationDB's client has one watch for each key, at the newest version
// (DatabaseContext::watchMap): a watch with another value takes its place.
func (t *Table) displace(w *Watch) (displaced []*Watch) {
	set := t.keys.Get(w.Key)
	if set == nil {
		return nil
	}
	for other := range *set {
		if !same(other.Value, w.Value) {
			displaced = append(displaced, other)
		}
	}
	for _, other := range displaced {
		t.disarm(other)
	}
	return displaced
}

// disarm takes a watch out of the table. t.mu is held.
func (t *Table) disarm(w *Watch) {
	if !w.armed {
		return
	}
	w.armed = false
	t.armed.Add(-1)
	set := *t.keys.Get(w.Key)
	if delete(set, w); len(set) == 0 {
		t.keys.Remove(w.Key)
	}
}

// FireChanged fires the watches on keys that the changes, which are resolved to sets
// and clears, gave another value in v, which is published.
func (t *Table) FireChanged(v View, changes []mutation.Mutation) {
	if t.armed.Load() == 0 {
		return
	}
	for i := range changes {
		for _, w := range t.find(&changes[i]) {
			value, err := v.Get(w.Key) // in the window of v, which the change was written to
			if err == nil && same(value, w.Value) {
				continue
			}
			if t.disarmIfOlder(w, v.Version()) {
				w.Finish(err)
			}
		}
	}
}

// find returns the armed watches on keys that a resolved mutation writes.
func (t *Table) find(m *mutation.Mutation) (watches []*Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Op != mutation.OpClearRange {
		if set := t.keys.Get(m.Key); set != nil {
			watches = slices.AppendSeq(watches, maps.Keys(*set))
		}
		return watches
	}
	var c btree.Cursor[watchSet]
	for ok := c.Seek(&t.keys, m.Key); ok && m.Covers(c.Key()); ok = c.Next() {
		watches = slices.AppendSeq(watches, maps.Keys(*c.Value()))
	}
	return watches
}

// disarmIfOlder disarms a watch if a version has changed its value, and reports
// whether the watch is to fire.
func (t *Table) disarmIfOlder(w *Watch, version int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.armed || version <= w.since {
		return false
	}
	t.disarm(w)
	return true
}

// Close fails with err all armed watches, and those that Arm is given later.
func (t *Table) Close(err error) { finishAll(t.disarmAll(err), err) }

// disarmAll empties the table, lets no more watches in, and returns those that were
// armed.
func (t *Table) disarmAll(err error) (watches []*Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = err
	var c btree.Cursor[watchSet]
	for ok := c.Seek(&t.keys, nil); ok; ok = c.Next() {
		for w := range *c.Value() {
			w.armed = false
			watches = append(watches, w)
		}
	}
	t.keys = btree.Tree[watchSet]{}
	t.armed.Store(0)
	return watches
}

func finishAll(watches []*Watch, err error) {
	for _, w := range watches {
		w.Finish(err)
	}
}

// same reports whether two values are equal; absent and empty differ.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// Watch waits for a key to have another value. A transaction makes it, the
// transaction's commit arms it, and it fires once.
type Watch struct {
	// Key and Value are what the transaction saw; a nil Value is an absent key. Only
	// the transaction uses and changes them, with its lock held, until Arm.
	Key, Value []byte

	table   *Table
	promise *kv.Promise[struct{}]
	armed   bool        // it is in the table; guarded by table.mu
	since   int64       // commits up to this version do not fire it; guarded by table.mu
	counted atomic.Bool // it is neither finished nor released
}

var _ kv.PendingResult[struct{}] = (*Watch)(nil)

// Finish fires the watch, or fails it if err is not nil. Only the first call counts.
func (w *Watch) Finish(err error) {
	w.Release()
	w.promise.Resolve(struct{}{}, err)
}

// Release stops counting a watch that no commit will arm. Its promise stays as it is:
// FoundationDB's client does not resolve the watches of a transaction that is only
// cancelled.
func (w *Watch) Release() {
	if w.counted.CompareAndSwap(true, false) {
		w.table.count.Add(-1)
	}
}

// Done implements [kv.PendingResult].
func (w *Watch) Done() <-chan struct{} { return w.promise.Done() }

// Result implements [kv.PendingResult].
func (w *Watch) Result() (struct{}, error) { return w.promise.Result() }

// Cancel implements [kv.PendingResult].
func (w *Watch) Cancel() {
	w.Finish(kv.NewError(kv.CodeOperationCancelled, "the watch was cancelled"))
	w.disarm() // a goroutine that arms the watch sees that it is finished, or has armed it
}

// disarm takes the watch out of the table, if it is there.
func (w *Watch) disarm() {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.table.disarm(w)
}

// compare fires an armed watch if its key has another value than the watch, or if the value was
// overwritten while a task read it. If the value cannot be read, the watch fails.
func (w *Watch) compare(value []byte, err error) {
	switch {
	case kv.CodeOf(err) == kv.CodeTransactionTooOld:
		err = nil
	case err == nil && same(value, w.Value):
		return
	}
	w.disarm()
	w.Finish(err)
}

// finished reports whether the watch has fired or failed. Arm is given no watch that was
// released.
func (w *Watch) finished() bool { return !w.counted.Load() }

// IsArmed reports whether the watch is in the table.
func (w *Watch) IsArmed() bool {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.armed
}
