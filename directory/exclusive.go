// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"reflect"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// change runs a function that changes directories, in a transaction of its own
// if t is a database and within t if it is a transaction. The function learns
// whether an earlier attempt may have committed; a change in the caller's
// transaction never knows of one.
func change(ctx context.Context, t kv.Transactor, fn func(tx kv.Transaction, maybeCommitted bool) error) error {
	db, ok := t.(kv.Database)
	if !ok {
		return t.Transact(ctx, func(tx kv.Transaction) error {
			return exclusive(ctx, tx, func() error { return fn(tx, false) })
		})
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(a kv.Attempt) error { return fn(tx, a.MaybeCommitted) })
}

// exclusive runs fn while no other exclusive function runs in tx.
//
// Changing directories is reading and then writing: two calls creating one
// path in one transaction would both find it absent, both allocate, and one
// prefix would be orphaned, since a transaction does not conflict with itself
// (apple/foundationdb#895). Calls in different transactions do not wait for
// each other. A transaction is known by its kv.Transaction value.
func exclusive(ctx context.Context, tx kv.Transaction, fn func() error) error {
	turn := turns.of(tx)
	defer turns.done(turn)
	select {
	case turn.free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-turn.free }()
	return fn()
}

var turns = turnTable{byTx: map[kv.Transaction]*turn{}}

// turnTable holds a turn for each transaction in which directories are being
// changed at the moment.
type turnTable struct {
	mu   sync.Mutex
	byTx map[kv.Transaction]*turn
}

// turn is what the calls in one transaction take in turns.
type turn struct {
	tx    kv.Transaction
	users int
	free  chan struct{} // holds one token while someone has the turn
}

func (t *turnTable) of(tx kv.Transaction) *turn {
	if !reflect.ValueOf(tx).Comparable() {
		tx = nil // all such transactions share one turn: slower, still right
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.byTx[tx]
	if u == nil {
		u = &turn{tx: tx, free: make(chan struct{}, 1)}
		t.byTx[tx] = u
	}
	u.users++
	return u
}

func (t *turnTable) done(u *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.users--; u.users == 0 {
		delete(t.byTx, u.tx)
	}
}
