// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"reflect"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// change runs a function that changes directories, in a transaction of its own
// if t is a database and within t if it is a transaction. maybeCommitted tells
// whether an earlier attempt may have committed; it is false in the caller's
// transaction.
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
// A verb reads and then writes. Two calls that create one path in one transaction
// would otherwise both find it absent and both allocate a prefix, one of which would
// stay unused, since a transaction does not conflict with itself
// (apple/foundationdb#895). Calls in different transactions do not wait for each
// other. The kv.Transaction value identifies a transaction.
func exclusive(ctx context.Context, tx kv.Transaction, fn func() error) error {
	turn := turns.acquire(tx)
	defer turns.release(turn)
	select {
	case turn.free <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-turn.free }()
	return fn()
}

var turns = turnTable{byTx: map[kv.Transaction]*turn{}}

// turnTable holds a turn for each transaction in which calls change directories at
// the moment.
type turnTable struct {
	mu   sync.Mutex
	byTx map[kv.Transaction]*turn
}

// turn lets one call at a time change directories in a transaction.
type turn struct {
	tx    kv.Transaction
	users int
	free  chan struct{} // holds one token while a call has the turn
}

func (t *turnTable) acquire(tx kv.Transaction) *turn {
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

func (t *turnTable) release(u *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.users--; u.users == 0 {
		delete(t.byTx, u.tx)
	}
}
