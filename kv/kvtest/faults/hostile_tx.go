// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// inner is the engine's transaction: it answers the calls that the wrapper leaves alone.
type inner struct{ kv.Transaction }

// hostileTx is a transaction that suffers a limited number of faults.
type hostileTx struct {
	hostileView
	inner

	mu        sync.Mutex
	fate      *rand.Rand // chooses faults, and nothing else: how many reads an attempt makes changes none of them
	rng       *rand.Rand // chooses delays, sizes of batches and watches
	reads     int        // of this attempt, until it expires
	faults    int        // still to suffer
	suffered  int        // so far
	failed    error      // what every call fails with until the transaction is reset
	wrote     bool       // this attempt has writes or write conflicts
	noUnknown bool       // automatic idempotency: 1021 cannot happen
	lost      bool       // the last commit's acknowledgement was lost
	maxDelay  time.Duration
	began     time.Time              // this attempt
	loose     map[uint64]func(error) // futures not ready: each fails when the transaction is reset
	nextID    uint64
	watches   []hostileWatch
	stamps    []hostileStamp
}

func newHostileTx(tx kv.Transaction, fate *rand.Rand, o Options) *hostileTx {
	t := &hostileTx{
		inner: inner{tx}, fate: fate, rng: rand.New(rand.NewPCG(fate.Uint64(), fate.Uint64())), faults: o.Faults,
		maxDelay: o.MaxDelay, loose: map[uint64]func(error){},
	}
	t.hostileView = hostileView{t, tx}
	t.shortenBackoff()
	t.beginAttempt()
	return t
}

// beginAttempt chooses after how many reads the attempt expires: one read in 24 meets that.
func (t *hostileTx) beginAttempt() {
	t.began, t.reads = time.Now(), int(24*t.fate.ExpFloat64())
}

// shortenBackoff keeps forced retries from slowing a test suite down.
func (t *hostileTx) shortenBackoff() {
	_ = t.inner.SetOption(kv.OptionMaxRetryDelay, 1) // an engine without the option waits longer
}

// fault is how a commit goes.
type fault int

const (
	honest        fault = iota
	conflict            // 1020, nothing committed
	unknownBefore       // 1021, nothing committed
	unknownAfter        // 1021, committed
	expiry              // 1007, nothing committed
)

// planCommit chooses the fault of a commit. It is called with mu held.
func (t *hostileTx) planCommit() fault {
	if t.faults <= 0 || t.suffered > 0 && t.fate.IntN(3) > 0 {
		return honest
	}
	t.spend()
	switch {
	case !t.wrote:
		return expiry
	case t.noUnknown:
		return conflict
	}
	return conflict + fault(t.fate.IntN(4))
}

func (t *hostileTx) spend() {
	t.faults--
	t.suffered++
}

// Commit implements [kv.Transaction].
func (t *hostileTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction].
func (t *hostileTx) CommitAsync() kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return kv.Resolved(struct{}{}, t.failed)
	}
	switch t.planCommit() {
	case conflict:
		return t.failCommit(kv.NewError(kv.CodeNotCommitted, "hostile: a conflict without a cause"))
	case unknownBefore:
		return t.failCommit(kv.NewError(kv.CodeCommitUnknownResult, "hostile: nothing was committed"))
	case expiry:
		return t.failCommit(expired())
	case unknownAfter:
		return t.commitInner(kv.NewError(kv.CodeCommitUnknownResult, "hostile: committed, the acknowledgement was lost"))
	}
	return t.commitInner(nil)
}

func expired() error {
	return kv.NewError(kv.CodeTransactionTooOld, "hostile: the transaction expired early")
}

// failCommit fails a commit without trying it. It is called with mu held.
func (t *hostileTx) failCommit(err error) kv.Future[struct{}] {
	t.settle(err, false)
	return delayLocked(t, kv.Resolved(struct{}{}, err))
}

// commitInner commits; if that succeeds and lost is not nil, the answer is
// lost. It is called with mu held.
func (t *hostileTx) commitInner(lost error) kv.Future[struct{}] {
	future, promise, delay := t.inner.CommitAsync(), kv.NewPromise[struct{}](), t.delayLocked()
	id := t.holdLocked(func(err error) { promise.Resolve(struct{}{}, err) })
	go func() {
		if !follow(future, promise, delay) {
			return
		}
		_, err := future.Get(context.Background())
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, held := t.loose[id]; !held {
			return // reset or cancelled since
		}
		delete(t.loose, id)
		if err == nil && lost != nil {
			err = lost
		}
		t.settle(err, err == nil)
		promise.Resolve(struct{}{}, err)
	}()
	return promise.Future()
}

// settle notes the outcome of a commit, and resolves the watches and
// versionstamps that wait for it. The caller holds mu.
func (t *hostileTx) settle(err error, honest bool) {
	t.lost = !honest
	if err != nil {
		t.failed = kv.NewError(kv.CodeUsedDuringCommit, "the transaction's commit failed (%v): call OnError or Reset", err)
	}
	for _, w := range t.watches {
		w.settle(t, err)
	}
	for _, s := range t.stamps {
		s.settle(err)
	}
	t.watches = nil
}

// OnError implements [kv.Transaction].
func (t *hostileTx) OnError(ctx context.Context, err error) error {
	if err := t.inner.OnError(ctx, err); err != nil {
		return err
	}
	t.renew()
	return nil
}

// Reset implements [kv.Transaction].
func (t *hostileTx) Reset() {
	t.inner.Reset()
	t.shortenBackoff()
	t.renew()
}

// Cancel implements [kv.Transaction].
func (t *hostileTx) Cancel() {
	t.inner.Cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = kv.NewError(kv.CodeTransactionCancelled, "the transaction was cancelled")
	t.releaseLocked()
}

// renew makes the wrapper's part of the transaction as new.
func (t *hostileTx) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed, t.wrote, t.noUnknown = nil, false, false
	t.beginAttempt()
	t.releaseLocked()
}

// releaseLocked fails every future that is not ready. Armed watches live on.
func (t *hostileTx) releaseLocked() {
	cancelled := kv.NewError(kv.CodeTransactionCancelled, "the transaction was reset or cancelled")
	for _, fail := range t.loose {
		fail(cancelled)
	}
	clear(t.loose)
	for _, w := range t.watches {
		w.fail(cancelled)
	}
	for _, s := range t.stamps {
		s.fail(cancelled)
	}
	t.watches, t.stamps = nil, nil
}

// expireOnce makes a read-only attempt fail if the transaction has not yet
// suffered anything.
func (t *hostileTx) expireOnce() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.faults <= 0 || t.suffered > 0 {
		return nil
	}
	t.spend()
	return expired()
}

// readFault decides whether a read meets an expired transaction.
func (t *hostileTx) readFault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil && t.faults > 0 && t.reads == 0 {
		t.spend()
		t.failed = expired()
	}
	t.reads--
	return t.failed
}

// batchSize chooses a size, larger ones for later batches so that long reads end.
func (t *hostileTx) batchSize(req kv.BatchRequest) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 1 + t.rng.IntN(2<<min(req.Iteration, 9))
	if req.Limit > 0 {
		size = min(size, req.Limit)
	}
	return size
}

func (t *hostileTx) write() kv.Transaction {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = true
	return t.inner
}

// Set implements [kv.Transaction].
func (t *hostileTx) Set(key, value []byte) { t.write().Set(key, value) }

// Clear implements [kv.Transaction].
func (t *hostileTx) Clear(key []byte) { t.write().Clear(key) }

// ClearRange implements [kv.Transaction].
func (t *hostileTx) ClearRange(r kv.KeyRange) { t.write().ClearRange(r) }

// Atomic implements [kv.Transaction].
func (t *hostileTx) Atomic(op kv.MutationType, key, operand []byte) {
	t.write().Atomic(op, key, operand)
}

// AddWriteConflictRange implements [kv.Transaction].
func (t *hostileTx) AddWriteConflictRange(r kv.KeyRange) error {
	return t.write().AddWriteConflictRange(r)
}

// AddWriteConflictKey implements [kv.Transaction].
func (t *hostileTx) AddWriteConflictKey(key []byte) error { return t.write().AddWriteConflictKey(key) }

// SetOption implements [kv.Transaction].
func (t *hostileTx) SetOption(o kv.Option, arg int64) error {
	if o == kv.OptionAutomaticIdempotency {
		t.mu.Lock()
		t.noUnknown = true
		t.mu.Unlock()
	}
	return t.inner.SetOption(o, arg)
}

// GetApproximateSize implements [kv.Transaction].
func (t *hostileTx) GetApproximateSize() kv.Future[int64] {
	return delay(t, t.inner.GetApproximateSize())
}

// GetCommittedVersion implements [kv.Transaction]. A commit with a lost
// answer has no version.
func (t *hostileTx) GetCommittedVersion() (int64, error) {
	t.mu.Lock()
	lost := t.lost
	t.mu.Unlock()
	if lost {
		return -1, nil
	}
	return t.inner.GetCommittedVersion()
}

// Transact implements [kv.Transactor].
func (t *hostileTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *hostileTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}
