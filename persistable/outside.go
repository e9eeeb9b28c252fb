// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// ErrOutsideTransaction is the error of [DB.Transact] if its function writes
// outside of the transaction, through a store that is not bound to it by In, and
// attempts with such a write conflict several times in a row: each conflicts
// with its own function.
var ErrOutsideTransaction = errors.New("persistable: the function of Transact writes outside of its transaction")

// A transaction looks for writes outside of it only after watchedConflicts conflicts
// in a row, since that costs time. It fails after maxOutside attempts in a row that
// wrote so and conflicted.
const (
	watchedConflicts = 8
	maxOutside       = 3
)

// outsideWrites are the writes of a transaction's function outside of it.
type outsideWrites struct {
	watched bool   // whether this attempt is watched
	typ     string // the type of a record that the function wrote outside; empty if none
	row     int    // the number of attempts directly before that wrote outside and conflicted
}

// startAttempt starts another attempt. After too many it returns an error.
func (o *outsideWrites) startAttempt(a kv.Attempt) error {
	o.watched = a.Conflicts >= watchedConflicts
	typ := o.typ
	if o.typ = ""; typ == "" || a.Conflicts == 0 {
		o.row = 0
		return nil
	}
	if o.row++; o.row < maxOutside {
		return nil
	}
	return fmt.Errorf("%w: each of %d attempts wrote a record of %s so, and conflicted: bind the store by In(tx), as in store.In(tx).Save(ctx, v)",
		ErrOutsideTransaction, o.row, typ)
}

// runningFunctions are the functions of watched transactions that run now, by
// goroutine.
type runningFunctions struct {
	count   atomic.Int64
	mu      sync.Mutex
	running map[uint64]*transaction
}

// register lists the function of t until the returned function is called.
func (f *runningFunctions) register(t *transaction) (leave func()) {
	g := goroutine()
	f.mu.Lock()
	defer f.mu.Unlock()
	outer, nested := f.running[g]
	if f.running == nil {
		f.running = map[uint64]*transaction{}
	}
	f.running[g] = t
	f.count.Add(1)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.running, g); nested {
			f.running[g] = outer
		}
		f.count.Add(-1)
	}
}

// noteInner notes t as a transaction within the function that this goroutine runs,
// if that is registered.
func (f *runningFunctions) noteInner(t *transaction) {
	if f.count.Load() == 0 || t.opened.first.place == nil {
		return
	}
	g := goroutine()
	f.mu.Lock()
	defer f.mu.Unlock()
	if outer := f.running[g]; outer != nil {
		outer.outside.typ = t.opened.first.place.typ
	}
}

// goroutine returns the number of the calling goroutine in stack traces. It only
// serves to explain an error.
func goroutine() uint64 {
	var text [64]byte
	trace := text[:runtime.Stack(text[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return n
}
