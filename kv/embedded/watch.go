// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// watch waits for a key to have another value. It is made by a transaction,
// armed when that commits, and fires once.
type watch struct {
	table   *watchTable
	promise *kv.Promise[struct{}]
	key     []byte
	value   []byte // nil: absent

	armed   bool // it is in the table; guarded by table.mu
	counted atomic.Bool
}

// watchTable holds the armed watches of a database and counts all of them.
type watchTable struct {
	mu     sync.Mutex
	keys   tree[[]*watch]
	closed error        // why no watch is armed any more
	armed  atomic.Int64 // watches in keys
	arming atomic.Int64 // goroutines that are about to arm some
	count  atomic.Int64 // watches that are not finished
}

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
	w.promise.Resolve(struct{}{}, err)
	if w.counted.CompareAndSwap(true, false) {
		w.table.count.Add(-1)
	}
}

// Done implements [kv.Pending].
func (w *watch) Done() <-chan struct{} { return w.promise.Done() }

// Result implements [kv.Pending].
func (w *watch) Result() (struct{}, error) { return w.promise.Result() }

// Cancel implements [kv.Pending].
func (w *watch) Cancel() {
	w.table.mu.Lock()
	w.table.disarm(w)
	w.table.mu.Unlock()
	w.finish(kv.NewError(kv.CodeOperationCancelled, "the watch was cancelled"))
}

// finished reports whether the watch has fired or failed.
func (w *watch) finished() bool {
	select {
	case <-w.promise.Done():
		return true
	default:
		return false
	}
}

// arm puts watches into the table; v is the newest view. A watch whose key has
// another value already fires at once.
func (t *watchTable) arm(v *view, watches []*watch) {
	if len(watches) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armLocked(v, watches)
}

func (t *watchTable) armLocked(v *view, watches []*watch) {
	for _, w := range watches {
		if w.finished() {
			continue
		}
		if t.closed != nil {
			w.finish(t.closed)
			continue
		}
		if value, err := v.get(w.key); err != nil || !same(value, w.value) {
			w.finish(err)
			continue
		}
		var list []*watch
		if old := t.keys.get(w.key); old != nil {
			list = *old
		}
		t.keys.set(w.key, append(list, w))
		w.armed = true
		t.armed.Add(1)
	}
}

// armNow arms the watches of a transaction that committed without writing. A
// commit that is published before the newest view is looked at is seen there;
// one that is published later finds the watch in the table.
func (t *watchTable) armNow(h *head, watches []*watch) {
	if len(watches) == 0 {
		return
	}
	t.arming.Add(1) // commits from now on look into the table
	defer t.arming.Add(-1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armLocked(h.now.Load(), watches)
}

// disarm takes a watch out of the table. t.mu is held.
func (t *watchTable) disarm(w *watch) {
	if !w.armed {
		return
	}
	w.armed = false
	t.armed.Add(-1)
	list := slices.DeleteFunc(slices.Clone(*t.keys.get(w.key)), func(o *watch) bool { return o == w })
	if len(list) == 0 {
		t.keys.remove(w.key)
		return
	}
	t.keys.set(w.key, list)
}

// changed fires the watches on keys that the changes gave another value in v.
func (t *watchTable) changed(v *view, changes []mutation) {
	if t.armed.Load() == 0 && t.arming.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range changes {
		m := &changes[i]
		if m.op != opClearRange {
			if list := t.keys.get(m.key); list != nil {
				t.fire(v, *list)
			}
			continue
		}
		var hit [][]*watch
		var c cursor[[]*watch]
		for ok := c.seek(&t.keys, m.key); ok && m.covers(c.key()); ok = c.next() {
			hit = append(hit, *c.val())
		}
		for _, list := range hit {
			t.fire(v, list)
		}
	}
}

// fire finishes those of the watches, which are on one key, whose value is no
// longer what v has. t.mu is held.
func (t *watchTable) fire(v *view, list []*watch) {
	value, err := v.get(list[0].key)
	for _, w := range slices.Clone(list) {
		if err != nil || !same(value, w.value) {
			t.disarm(w)
			w.finish(err)
		}
	}
}

// close fails all armed watches, and those that were to be.
func (t *watchTable) close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = err
	var c cursor[[]*watch]
	for ok := c.seek(&t.keys, nil); ok; ok = c.next() {
		for _, w := range *c.val() {
			w.armed = false
			w.finish(err)
		}
	}
	t.keys = tree[[]*watch]{}
	t.armed.Store(0)
}

// same reports whether two values are equal; absent and empty differ.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// isArmed reports whether the watch is in the table.
func (w *watch) isArmed() bool {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.armed
}
