// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Tx is a transaction to which a store is bound by its In. It is valid until the
// function that received it returns.
type Tx struct{ t *transaction }

// KV returns the engine's transaction, for keys of the program's own. Keys in the
// directories of types belong to their stores. It is nil in ReadTransact and for
// the zero Tx.
func (tx Tx) KV() kv.Transaction {
	if tx.t == nil || tx.t.isReadOnly() {
		return nil
	}
	tx.t.lent.Store(true)
	return tx.t.writer
}

// transaction is one attempt of a transaction, with the state that all attempts of
// a call share.
type transaction struct {
	db *DB
	scan.Transaction
	mu     sync.Mutex
	opened openPlaces

	operation *operation // to which it belongs; nil: that is not traced

	untouched bool              // that of a single operation, which has opened no place yet
	asked     bool              // whether metadata was started
	metadata  kv.Future[[]byte] // the read of the metadata version

	*writeState // nil if read-only
}

// isReadOnly reports whether the transaction cannot write.
func (t *transaction) isReadOnly() bool { return t.writeState == nil }

// writeState is what only a transaction that writes has. Writes of several
// goroutines overlap in it. So that of two that claim one id or one unique value
// one sees what the other has written:
//
//  1. A write loads Writes.Count before it starts its reads.
//  2. It then takes writeLock, and holds it until it has written.
//  3. If the count has changed since 1, it reads and checks once more. The engine
//     has most of that in memory, since the transaction has read it before.
//  4. After it has written, or failed half-way, it adds one to the count.
type writeState struct {
	writer     kv.Transaction
	token      format.Token
	unsure     bool // an earlier attempt may have committed
	onlyReads  bool // that of a function of Transact that has written through no store
	conflicts  int  // attempts in a row, directly before, that conflicted
	writeLock  sync.Mutex
	fences     []leasefdb.FenceCheck // the checks of the DB's fences; nil: not started
	versions   ownVersions
	borrowed   bool        // the caller commits: see DB.In
	lent       atomic.Bool // the program has the engine's transaction, and may have set options
	seesWrites bool        // the transaction reads what it has written; writeLock guards it
	spoilMu    sync.Mutex
	spoiled    error    // why the attempt must not be committed; spoilMu guards it
	created    [][]byte // the keys of the records that this attempt created
	earlier    [][]byte // the keys of those that attempts created which may have committed, each once
}

// spoil makes the attempt fail, even if the function of the transaction goes on after the
// error: an operation that returned it has written a part of what it writes. Operations
// avoid this: they do all that can fail before they write. A caller that commits itself
// gets the code 1025; if the error is one to be retried, the caller has to return it.
func (t *transaction) spoil(err error) {
	t.spoilMu.Lock()
	t.spoiled = cmp.Or(t.spoiled, err)
	t.spoilMu.Unlock()
	if t.borrowed && !kv.IsRetryable(err) {
		t.writer.Cancel()
	}
}

// checkWhole returns an error if the attempt has a part of an operation only.
func (t *transaction) checkWhole() error {
	t.spoilMu.Lock()
	defer t.spoilMu.Unlock()
	if t.spoiled == nil {
		return nil
	}
	return fmt.Errorf("persistable: the transaction cannot be committed, because an operation in it failed when it had written a part: %w", t.spoiled)
}

func newWriteTransaction(db *DB, tx kv.Transaction) *transaction {
	both := &struct {
		transaction
		writeState
		scan.Writes
	}{transaction{db: db}, writeState{writer: tx, token: format.NewToken()}, scan.Writes{Writer: tx}}
	both.transaction.writeState = &both.writeState
	both.transaction.Transaction = scan.Transaction{Reader: tx, Writes: &both.Writes}
	return &both.transaction
}
