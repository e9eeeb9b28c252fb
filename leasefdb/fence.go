// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Fence is a condition that a transaction checks before it commits: that
// something still has the owner that it had when the Fence was made. The check
// reads one key, which is written only when the ownership changes, so that the
// engine itself finds out about a change between the read and the commit, and
// refuses the commit with a conflict. No clock is asked.
//
// The zero Fence is always in force and reads nothing. That of the zero [Grant] is never
// in force. A Fence is immutable and safe for concurrent use.
type Fence struct {
	key    []byte
	owns   func(found []byte) error // checks the key's value, nil if absent
	unsure func(error)              // see WhenUnknown; nil: there is none
}

// NewFence returns a fence of a key that another package writes. It writes the
// key whenever the ownership changes, and as seldom as possible otherwise,
// since every write of the key conflicts with the transactions that check the
// fence. owns gets the value of the key, nil if it is absent, and returns nil
// if the ownership has not changed, else an error that is an [ErrLeaseLost] and
// not retryable, best a *[LostError]. Several goroutines may call it. Without a
// key the check reads nothing and passes nil to owns; without owns the fence is
// never in force.
func NewFence(key []byte, owns func(found []byte) error) Fence {
	if owns == nil {
		owns = func([]byte) error { return errNoOwns }
	}
	return Fence{key: bytes.Clone(key), owns: owns}
}

var errNoOwns = errors.New("leasefdb: the fence has no function that checks the value of its key")

// WhenLost returns the fence with a function that is called with the error of each check which
// finds that the ownership has changed, before the check returns it: so that the owner learns of
// it even if the error goes no further. Several goroutines may call it; it must not block.
func (f Fence) WhenLost(tell func(error)) Fence {
	if f.IsZero() {
		return f
	}
	owns := f.owns
	f.owns = func(found []byte) error {
		err := owns(found)
		if err != nil {
			tell(err)
		}
		return err
	}
	return f
}

// WhenUnknown returns the fence with a function that is called with the error of each transaction
// under it that leaves open whether it has committed ([kv.IsOutcomeUnknown]). Its commit may be
// under way, and land after what its owner reads next: what an owner must know that keeps state in memory,
// or writes in one transaction what it has read in another. A claim of what the fence protects
// settles it, since that writes the fence's key: the commit has landed before, or never does.
// Several goroutines may call the function; it must not block.
func (f Fence) WhenUnknown(tell func(error)) Fence {
	if f.IsZero() {
		return f
	}
	before := f.unsure
	f.unsure = func(err error) {
		if before != nil {
			before(err)
		}
		tell(err)
	}
	return f
}

// NoteEnd tells the fence the error with which a transaction has ended that checked it; nil if it
// has committed. Callers of [Fence.Check] and [Fence.StartCheck] call it, for owners that have set
// [Fence.WhenUnknown]. Of the databases of [Fence.Under] Transact calls it, and Commit, except after
// a 1021, which its caller may retry; CommitAsync does not.
func (f Fence) NoteEnd(err error) {
	if f.unsure != nil && kv.IsOutcomeUnknown(err) {
		f.unsure(err)
	}
}

// IsZero reports whether the fence is the zero Fence.
func (f Fence) IsZero() bool { return f.owns == nil }

// Key returns a copy of the key that [Fence.Check] reads; nil if it reads none.
func (f Fence) Key() []byte { return bytes.Clone(f.key) }

// Check reads the key of the fence in tx, serializably, and returns an error,
// an [ErrLeaseLost], if it tells that the ownership has changed. If it changes
// before tx commits, the commit fails with a conflict; its retry then gets that
// error from Check. One round of reads.
func (f Fence) Check(ctx context.Context, tx kv.Transaction) error { return f.startCheck(tx).wait(ctx) }

// StartCheck begins [Fence.Check], so that other reads share its round. The function that
// it returns waits for the answer and returns it. It may be called several times.
func (f Fence) StartCheck(tx kv.Transaction) (wait func(context.Context) error) {
	if f.IsZero() {
		return passed
	}
	return f.startCheck(tx).wait
}

// passed is the check of the zero Fence.
func passed(context.Context) error { return nil }

func (f Fence) startCheck(tx kv.Transaction) fenceCheck {
	if f.IsZero() {
		return fenceCheck{}
	}
	if f.key == nil {
		return fenceCheck{f, kv.Resolved[[]byte](nil, nil)}
	}
	return fenceCheck{f, tx.Get(f.key)}
}

// Under returns db as its owner may write to it: each of its transactions,
// whether Transact runs it or Begin returns it, commits only while the fence
// holds. Otherwise it does not commit, and the error is an [ErrLeaseLost],
// which no retry loop repeats. After an attempt with an unknown outcome, which may
// have committed while the fence held, the error of Transact and [kv.Retry] is a
// [kv.ErrOutcomeUnknown] as well. The check is part of each attempt; it costs one read,
// in a round with the first read of the function, if that reads. ReadTransact
// is not fenced. Closing the result closes db.
func (f Fence) Under(db kv.Database) kv.Database {
	if f.IsZero() {
		return db
	}
	return fencedDatabase{db, f}
}

// fenceCheck is a check of a fence that has begun.
type fenceCheck struct {
	fence Fence
	read  kv.Future[[]byte]
}

func (c fenceCheck) wait(ctx context.Context) error {
	if c.fence.IsZero() {
		return nil
	}
	value, err := c.read.Get(ctx)
	if err != nil {
		return err
	}
	return c.fence.owns(value)
}

type fencedDatabase struct {
	kv.Database
	fence Fence
}

// Begin implements [kv.Database].
func (d fencedDatabase) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &fencedTransaction{Transaction: tx, fence: d.fence}, nil
}

// Transact implements [kv.Transactor].
func (d fencedDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	err := d.Database.Transact(ctx, func(tx kv.Transaction) error {
		fenced := &fencedTransaction{Transaction: tx, fence: d.fence}
		if err := fn(fenced); err != nil {
			return err
		}
		return fenced.startCheck().wait(ctx)
	})
	d.fence.NoteEnd(err)
	return err
}

// fencedTransaction checks the fence before each commit. The check begins with
// the first read, so that both share a round, and not earlier, because options
// and a read version must be set before.
type fencedTransaction struct {
	kv.Transaction
	fence Fence

	mu    sync.Mutex
	check *fenceCheck // of this attempt; nil until it has begun
}

// startCheck begins the check of this attempt, unless it has begun.
func (t *fencedTransaction) startCheck() *fenceCheck {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check == nil {
		check := t.fence.startCheck(t.Transaction)
		t.check = &check
	}
	return t.check
}

// dropCheck drops the check of an attempt that has ended.
func (t *fencedTransaction) dropCheck() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check = nil
}

// commitChecked starts the commit of the attempt of a check that has passed.
// After a reset the transaction is another attempt, to which that check does
// not apply.
func (t *fencedTransaction) commitChecked(done *fenceCheck) kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check != done {
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTransactionCancelled, "it was reset before its commit")))
	}
	return t.Transaction.CommitAsync()
}

// Get implements [kv.ReadTransaction].
func (t *fencedTransaction) Get(key []byte) kv.Future[[]byte] {
	t.startCheck()
	return t.Transaction.Get(key)
}

// GetRange implements [kv.ReadTransaction].
func (t *fencedTransaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	t.startCheck()
	return t.Transaction.GetRange(r, o)
}

// Transact implements [kv.Transactor]: fn runs under the fence, too.
func (t *fencedTransaction) Transact(_ context.Context, fn func(kv.Transaction) error) error {
	return fn(t)
}

// ReadTransact implements [kv.ReadTransactor].
func (t *fencedTransaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Commit implements [kv.Transaction].
func (t *fencedTransaction) Commit(ctx context.Context) error {
	if err := t.startCheck().wait(ctx); err != nil {
		return err
	}
	err := t.Transaction.Commit(ctx)
	if !kv.IsMaybeCommitted(err) {
		t.fence.NoteEnd(err)
	}
	return err
}

// CommitAsync implements [kv.Transaction].
func (t *fencedTransaction) CommitAsync() kv.Future[struct{}] {
	committed, check := kv.NewPromise[struct{}](), t.startCheck()
	go func() {
		err := check.wait(context.Background())
		if err == nil {
			_, err = t.commitChecked(check).Get(context.Background())
		}
		committed.Resolve(struct{}{}, err)
	}()
	return committed.Future()
}

// OnError implements [kv.Transaction].
func (t *fencedTransaction) OnError(ctx context.Context, err error) error {
	t.dropCheck()       // a commit that waits for the check is given up
	defer t.dropCheck() // a check that has begun since then belongs to the attempt that ends here
	return t.Transaction.OnError(ctx, err)
}

// Reset implements [kv.Transaction].
func (t *fencedTransaction) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Transaction.Reset()
	t.check = nil
}
