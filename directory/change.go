// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Condition says whether a verb may change the directory that it has found at its path:
// its error ends the verb, which then changes nothing and returns that error, wrapped.
// It runs in the transaction of the verb, so what it reads in tx still holds when
// the change takes effect; tx is a [kv.Transaction], and what it writes there commits with
// the change. It runs again with each attempt: it must have no effect
// outside of tx. A condition that compares [Directory.Reserve] with that of an earlier
// transaction knows the directory again: no other one gets the same, unless a program
// chooses prefixes itself ([Layer.CreatePrefix]).
type Condition func(tx kv.ReadTransaction, d *Directory) error

// checkConditions returns why the directory at the end of a trail must not be changed.
func checkConditions(tx kv.ReadTransaction, t *trail, conditions []Condition) error {
	for _, allow := range conditions {
		if err := allow(tx, t.directory()); err != nil {
			return err
		}
	}
	return nil
}

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

// Invalidate makes every [Cache], in all processes, read its entries again once tx
// commits: it writes \xff/metadataVersion. Move and Remove call it. A program that
// has other reasons to write that key must call Invalidate, too: from then on the
// key cannot be read in tx, and a read would make the commit fail (1036). Caches
// know the transactions that called Invalidate, and do not read the key there.
func Invalidate(ctx context.Context, tx kv.Transaction) error {
	version, err := tx.GetReadVersion().Get(ctx)
	if err != nil {
		return err
	}
	changed.markVersion(version)
	operand := make([]byte, kv.VersionstampSize+4) // the placeholder, and its offset 0
	tx.Atomic(kv.SetVersionstampedValue, []byte(kv.MetadataVersionKey), operand)
	return nil
}

// MetadataVersion returns the value of \xff/metadataVersion at tx's read
// version, "" if it was never written; ok is false if [Invalidate] may have been
// called in tx, so that the value cannot be read and caches must not be used
// there. It costs no round, and adds no read conflict.
func MetadataVersion(ctx context.Context, tx kv.ReadTransaction) (value string, ok bool, err error) {
	m, err := observe(ctx, tx)
	if m == nil || err != nil {
		return "", false, err
	}
	return m.metadata, true, nil
}

// changed knows the read versions of the transactions of this process that
// have written the metadata version key.
var changed = versionSet{last: map[int64]time.Time{}}

// versionSet is a set of read versions. A version is dropped when transactions that
// read it can no longer commit, and many others were marked since. The read version alone identifies a transaction,
// since wrappers and snapshots are other values: other transactions with the same
// version count as marked, too, which costs them reads.
type versionSet struct {
	mu    sync.RWMutex
	last  map[int64]time.Time // when each was marked last
	order []markedVersion
}

type markedVersion struct {
	version int64
	at      time.Time
}

const (
	// markLifetime is how long a mark is kept at least: twice the age at which a
	// transaction is too old to commit.
	markLifetime = 2 * kv.MaxTransactionAge
	// keptMarks is how many marks are kept however old they are. A transaction that took
	// longer learns from its commit that it is too old (1007), and is retried. If it were
	// not known any more, it would read the key instead, and end with 1036.
	keptMarks = 4096
)

func (s *versionSet) markVersion(version int64) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) >= keptMarks && now.Sub(s.order[0].at) > markLifetime {
		if first := s.order[0]; s.last[first.version].Equal(first.at) {
			delete(s.last, first.version)
		}
		s.order = s.order[1:]
	}
	s.last[version] = now
	s.order = append(s.order, markedVersion{version, now})
}

// startRead starts to read the metadata version key in tx, which reads version,
// unless that is marked. The lock keeps another goroutine from marking the
// version, and so from writing the key, before the read has started.
func (s *versionSet) startRead(tx kv.ReadTransaction, version int64) (kv.Future[[]byte], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, marked := s.last[version]; marked {
		return kv.Future[[]byte]{}, false
	}
	return tx.Snapshot().Get([]byte(kv.MetadataVersionKey)), true
}
