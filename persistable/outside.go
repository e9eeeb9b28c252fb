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

// What a function writes outside of its transaction is looked for once it has
// conflicted so often in a row, since that costs time; then so many attempts
// in a row may write so and conflict.
const (
	watchedConflicts = 8
	maxOutside       = 3
)

// outsideWrites is what the function of a transaction writes outside of it.
type outsideWrites struct {
	watched bool   // this attempt
	typ     string // of a record that it has written so; empty if there is none
	row     int    // attempts that have, and conflicted, directly before this one
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

// runningFunctions are the functions of watched transactions that run now, by their
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

// noteInner tells the function that this goroutine runs, if it is listed, that t was
// another transaction within it.
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

// goroutine returns the number of the calling goroutine, as stack traces show
// it. It serves to explain an error, never to decide what is read or written.
func goroutine() uint64 {
	var text [64]byte
	trace := text[:runtime.Stack(text[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return n
}
