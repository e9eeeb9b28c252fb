// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// watch waits for a key to have another value. It is made by a transaction,
// armed when that commits, and fires once.
type watch struct {
	table   *watchTable
	promise *kv.Promise[struct{}]
	key     []byte
	value   []byte // nil: absent

	armed   bool  // it is in the table; guarded by table.mu
	since   int64 // commits up to this version do not fire it; guarded by table.mu
	counted atomic.Bool
}

// watchTable holds the armed watches of a database and counts all of them. Its
// lock is held to change the table only: values are read, and watches resolved,
// without it.
type watchTable struct {
	mu     sync.Mutex
	keys   btree.Tree[watchSet]
	closed error        // why no watch is armed any more
	armed  atomic.Int64 // watches in keys
	count  atomic.Int64 // watches that are not finished
}

// watchSet are the armed watches on one key.
type watchSet map[*watch]struct{}

// add makes a watch, or fails if there are too many.
func (t *watchTable) add(key, value []byte) (*watch, error) {
	if t.count.Add(1) > kv.MaxWatches {
		t.count.Add(-1)
		return nil, kv.NewError(kv.CodeTooManyWatches, "%d watches are outstanding; cancel some", kv.MaxWatches)
	}
	w := &watch{table: t, promise: kv.NewPromise[struct{}](), key: key, value: value}
	w.counted.Store(true)
	return w, nil
}

// finish resolves the watch and forgets it.
func (w *watch) finish(err error) {
	if w.counted.CompareAndSwap(true, false) {
		w.table.count.Add(-1)
		w.promise.Resolve(struct{}{}, err)
	}
}

// Done implements [kv.Pending].
func (w *watch) Done() <-chan struct{} { return w.promise.Done() }

// Result implements [kv.Pending].
func (w *watch) Result() (struct{}, error) { return w.promise.Result() }

// Cancel implements [kv.Pending].
func (w *watch) Cancel() {
	w.finish(kv.NewError(kv.CodeOperationCancelled, "the watch was cancelled"))
	w.table.mu.Lock() // a goroutine that arms the watch sees there that it is finished, or has armed it
	defer w.table.mu.Unlock()
	w.table.disarm(w)
}

// finished reports whether the watch has fired or failed.
func (w *watch) finished() bool { return !w.counted.Load() }

// arm puts watches into the table. A watch whose key has another value already
// fires at once.
//
// The watches are in the table before the newest view is looked at. So a commit
// that is published before is seen in that view, and one that is published later
// finds the watches.
func (t *watchTable) arm(h *head, watches []*watch) {
	if len(watches) == 0 {
		return
	}
	displaced, err := t.enter(watches, h.now.Load().version)
	if err != nil {
		finishAll(watches, err)
		return
	}
	finishAll(displaced, nil)
	v := h.now.Load()
	for _, w := range watches {
		if value, err := v.get(w.key); err != nil || !same(value, w.value) {
			t.withdraw(w)
			w.finish(err)
		}
	}
}

// enter puts watches into the table, unless it is closed. Commits up to a version,
// which is published, do not fire them: arm looks at what those have left. It
// returns the watches that the caller fires because of others: see displace.
func (t *watchTable) enter(watches []*watch, published int64) (displaced []*watch, err error) {
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
		set := t.keys.Get(w.key)
		if set == nil {
			t.keys.Set(w.key, watchSet{w: {}})
		} else {
			(*set)[w] = struct{}{}
		}
		w.armed, w.since = true, published
		t.armed.Add(1)
	}
	return displaced, nil
}

// displace disarms the watches on the key of w that wait for another value to
// change, and returns them. w was made by a transaction that committed, and has
// fired before, by a write of its own. FoundationDB's client has one watch for
// each key, at the newest version: one for another value takes its place.
func (t *watchTable) displace(w *watch) (displaced []*watch) {
	set := t.keys.Get(w.key)
	if set == nil {
		return nil
	}
	for other := range *set {
		if !same(other.value, w.value) {
			displaced = append(displaced, other)
		}
	}
	for _, other := range displaced {
		t.disarm(other)
	}
	return displaced
}

// withdraw takes a watch out of the table.
func (t *watchTable) withdraw(w *watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disarm(w)
}

// disarm takes a watch out of the table. t.mu is held.
func (t *watchTable) disarm(w *watch) {
	if !w.armed {
		return
	}
	w.armed = false
	t.armed.Add(-1)
	set := *t.keys.Get(w.key)
	if delete(set, w); len(set) == 0 {
		t.keys.Remove(w.key)
	}
}

// changed fires the watches on keys that the changes gave another value in v,
// which is published.
func (t *watchTable) changed(v *view, changes []mutation.Mutation) {
	if t.armed.Load() == 0 {
		return
	}
	for i := range changes {
		for _, w := range t.concerned(&changes[i]) {
			value, err := v.get(w.key) // in the window of v, which the change was written to
			if err == nil && same(value, w.value) {
				continue
			}
			if t.take(w, v.version) {
				w.finish(err)
			}
		}
	}
}

// concerned returns the armed watches on keys that a resolved mutation writes.
func (t *watchTable) concerned(m *mutation.Mutation) (watches []*watch) {
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

// take takes a watch whose value a version has changed out of the table, and
// reports whether it is to fire.
func (t *watchTable) take(w *watch, version int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !w.armed || version <= w.since {
		return false
	}
	t.disarm(w)
	return true
}

// close fails all armed watches, and those that were to be.
func (t *watchTable) close(err error) { finishAll(t.shut(err), err) }

// shut lets no more watches in, and takes out those that are armed.
func (t *watchTable) shut(err error) (watches []*watch) {
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

func finishAll(watches []*watch, err error) {
	for _, w := range watches {
		w.finish(err)
	}
}

// same reports whether two values are equal; absent and empty differ.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// isArmed reports whether the watch is in the table.
func (w *watch) isArmed() bool {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.armed
}
