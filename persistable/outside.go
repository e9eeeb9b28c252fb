// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/internal/goroutine"
)

// ErrOutsideTransaction is the error of a write that the function of a transaction makes
// outside of that transaction: through a store of the same [DB] that In has not bound to
// it. The write would stay even if the transaction failed, and would be made again in
// each further attempt. Nothing of it is committed.
//
// It is noticed in functions of [DB.Transact], of a store's Update and of
// [Consumer.Next], where the function calls the verb in its own goroutine. Not noticed
// are reads through an unbound store, which persistvet finds; writes from goroutines that
// the function starts; writes through another DB; and [DB.RemoveDirectory].
var ErrOutsideTransaction = errors.New("persistable: a write is outside of the transaction of its function")

// OwnTransaction returns a context with which a function of [DB.Transact] may write
// outside of its transaction, through a store that is not bound to it: a log of attempts,
// say, that must stay even if the transaction fails. Each attempt of the function makes
// such a write again.
func OwnTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownTransaction{}, true)
}

type ownTransaction struct{}

// runningFunctions counts the functions of transactions that run now, by goroutine.
type runningFunctions struct {
	count   atomic.Int64
	mu      sync.Mutex
	running map[uintptr]int
}

// enter counts a function until the returned function is called in the same goroutine.
func (f *runningFunctions) enter() (leave func()) {
	g := goroutine.ID()
	f.add(g, 1)
	return func() { f.add(g, -1) }
}

func (f *runningFunctions) add(g uintptr, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil {
		f.running = map[uintptr]int{}
	}
	if f.running[g] += n; f.running[g] == 0 {
		delete(f.running, g)
	}
	f.count.Add(int64(n))
}

// checkOutside returns an [ErrOutsideTransaction] if the goroutine of t, which is about to
// commit, runs the function of another transaction.
func (f *runningFunctions) checkOutside(ctx context.Context, t *transaction) error {
	place := t.opened.first.place
	if f.count.Load() == 0 || place == nil || t.onlyReads || ctx.Value(ownTransaction{}) != nil {
		return nil
	}
	g := goroutine.ID()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[g] == 0 {
		return nil
	}
	return fmt.Errorf("%w: bind the store of %s by In(tx), as in store.In(tx).Save(ctx, v); if a transaction of its own is meant, pass OwnTransaction(ctx)",
		ErrOutsideTransaction, place.typ)
}
