// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

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
