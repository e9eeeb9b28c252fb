// SPDX-License-Identifier: Apache-2.0

// Package ryw is the transaction: FoundationDB's client (ReadYourWritesTransaction
// and NativeAPI) over a view of the database.
//
// It promises to the package above:
//
//   - A [Transaction] is a [kv.Transaction]. It answers,
//     conflicts, counts sizes and ends batches as FoundationDB's client does, which the
//     recordings of a real cluster prove (TestGoldens of kv/embedded). Where that is
//     surprising a comment names the function of the client.
//   - A read sees the transaction's writes as they were when the read was begun, over
//     one version of the database.
//   - Reads overlap. A commit waits for the reads that were begun before it, and has
//     their conflict ranges. Cancel, Reset, OnError and the timeout end them.
//   - What a caller gets is shared and never modified. The caller must not modify it
//     either.
//
// It needs an [Engine] from below, which gives it a [View] with Get, Seek and
// SeekBelow, and commits its writes. So its own tests do not need the real engine:
// they use one over a slice.
package ryw

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// Client makes the transactions of one database: the part of FoundationDB's client
// that they share. It is safe for concurrent use.
type Client struct {
	engine   Engine
	defaults settings       // of each transaction
	sizes    reads.SizeHint // of the batches of range reads
}

// NewClient returns the client of an engine.
func NewClient(e Engine, d kv.TransactionOptions) *Client {
	return &Client{engine: e, defaults: defaultSettings(d)}
}

// Begin returns a new transaction.
func (c *Client) Begin() *Transaction {
	t := &Transaction{client: c, engine: c.engine, first: &c.defaults, settings: c.defaults, committed: -1, direct: &noDirectWrites}
	t.backoff = backoff{cap: max(t.settings.maxDelay, 1)}
	if t.settings.timeout > 0 {
		t.deadline = &deadline{began: time.Now()}
		t.setExpiry()
	}
	return t
}

// BeginReadOnly returns a new transaction for a function that only reads and cannot
// ask for the transaction's size. Such a transaction need not note what
// FoundationDB's client caches: only sizes would show it.
func (c *Client) BeginReadOnly() *Transaction {
	t := c.Begin()
	t.unmeasured = true
	return t
}

// Transaction implements [kv.Transaction].
type Transaction struct {
	client *Client
	engine Engine

	// mu guards all that follows.
	//
	//  1. No method waits for the disk, a commit or another goroutine with mu held.
	//  2. A read looks at the own writes, fixes the view and enters itself into pending
	//     with mu held. It reads without mu, in copies of the own writes and of what is
	//     known (restartDetached), if the view may wait for the disk or the read takes
	//     more than atOnce steps. Get reads any view without mu, and is in pending only
	//     while it reads the disk.
	//  3. A read takes its result into the transaction with mu held, and only if it is
	//     still in pending: whatever takes it out has resolved its future.
	//  4. A commit begins once pending is empty. The read that leaves pending last goes
	//     on with a commit that waits (commitWaits).
	//  5. mu comes before all locks of the engine. The engine takes no mu: an attempt's
	//     futures are promises with locks of their own, and what it tells of its commit
	//     is atomic.
	mu            sync.Mutex
	first         *settings // that each attempt begins with; shared, and not modified
	settings      settings
	attempts      int           // how many were begun
	deadline      *deadline     // nil: none was ever set
	attempt       *attempt      // nil: nothing awaits the commit yet
	committed     int64         // the version of the commit before the attempt; -1: there is none
	conflicted    []kv.KeyRange // the conflicting keys told to an attempt before; nil: none
	unmeasured    bool          // it only reads, and no caller can ask for its size
	hasQuietWrite bool          // some write adds no write conflict range
	started       bool          // the commit has begun: nothing else may be called
	fault         error         // what an earlier write did wrong; reported by the next call
	deadErr       error         // why the transaction cannot be used until it is reset
	readErr       error         // what the first read that failed failed with

	view         View  // what it reads; nil until the first read, and where viewErr is set
	viewErr      error // why the read version cannot be read
	version      int64 // the read version; 0 until it is fixed
	read         bool  // something was read
	writes       writeMap
	reads        []kv.KeyRange // read conflict ranges, neither sorted nor merged
	known        *knownKeys    // what its reads have told; nil: nothing, or the size cannot be asked for
	knownChanges int           // how often known was changed or replaced
	size         int64         // as GetApproximateSize counts

	pending      []readTask    // reads under way
	firstPending [1]readTask   // memory for pending
	heldRead     readTask      // the only one of them, if it was not started yet; else nil
	commitWaits  bool          // the commit has begun and waits for them
	ended        chan struct{} // closed when no read is under way; nil: no goroutine waits for that

	direct *directWrites // what bypasses the write map; never nil

	retried    bool   // OnError has begun another attempt since the last reset
	firstStamp []byte // then: the versionstamp of the first; nil if it did not commit

	backoff backoff
	retries int64
}

// directWrites are the conflict ranges and writes of a transaction that do not go through
// the write map: those before a versionstamped key, and all if reads do not see
// them.
type directWrites struct {
	sent       []mutation.Mutation
	sentRanges []kv.KeyRange // their write conflict ranges
	lateReads  []kv.KeyRange // read conflict ranges that the size does not count
	stampKeys  [][]byte      // keys given to SetVersionstampedKey
}

// noDirectWrites is every transaction's at first. It must not be modified.
var noDirectWrites directWrites

// ownDirect returns what may be modified.
func (t *Transaction) ownDirect() *directWrites {
	if t.direct == &noDirectWrites {
		t.direct = &directWrites{}
	}
	return t.direct
}

var _ kv.Transaction = (*Transaction)(nil)

var errCancelled = kv.NewError(kv.CodeTransactionCancelled, "the transaction was cancelled or reset")

// checkUsable returns why a read, or a commit, cannot begin. t.mu is held.
func (t *Transaction) checkUsable() error {
	if t.fault != nil {
		return t.fault
	}
	return t.checkAlive()
}

// checkAlive is usable without the faults of earlier writes.
func (t *Transaction) checkAlive() error {
	if t.started {
		return t.failMisuse()
	}
	t.checkTimeout()
	if t.deadErr == nil && t.engine.Closed() {
		return kv.ErrClosed
	}
	return t.deadErr
}

// failMisuse spoils the commit that is under way, or was, and returns the error of
// a call that came after it.
func (t *Transaction) failMisuse() error {
	err := kv.NewError(kv.CodeUsedDuringCommit, "the transaction was used after its commit began: use a transaction of Transact only within its function, and Reset one that you began yourself first")
	if t.deadErr == nil && !t.settings.lenientCommit {
		t.failUntilReset(err)
		t.engine.Drive() // what was submitted goes its way
	}
	return err
}

// failUntilReset makes the transaction unusable until it is reset. A commit that was
// submitted still arms or fails its watches; no other commit will.
func (t *Transaction) failUntilReset(err error) {
	t.deadErr = err
	if !t.started || t.commitWaits {
		t.attempt.releaseWatches()
	}
	t.commitWaits = false
	t.giveUpReads(err)
	releaseView(&t.view)
	t.attempt.resolveWaiting(err)
}

// keepFault keeps the first fault of a write, for the next call to report.
func (t *Transaction) keepFault(err error) error {
	if t.fault == nil {
		t.fault = err
	}
	return nil
}

// Transact implements [kv.Transactor]: fn becomes a part of this transaction.
func (t *Transaction) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *Transaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Release implements [kv.Transaction]. The garbage collector frees what a transaction has.
func (t *Transaction) Release() {}

// Cancel implements [kv.Transaction].
func (t *Transaction) Cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deadErr == nil {
		t.failUntilReset(errCancelled)
	}
	t.stopTimer()
}

// Reset implements [kv.Transaction].
func (t *Transaction) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginAttempt(*t.first)
	t.retries, t.retried, t.firstStamp = 0, false, nil
	t.deadline = &deadline{began: time.Now()}
	t.setExpiry()
	t.backoff = backoff{cap: max(t.settings.maxDelay, 1)}
}

// beginAttempt begins a new attempt. t.mu is held.
func (t *Transaction) beginAttempt(s settings) {
	t.attempts++
	t.stopTimer()
	if t.deadline != nil {
		t.deadline.expires = time.Time{}
	}
	t.commitWaits = false
	t.giveUpReads(errCancelled)
	t.attempt.giveUp()
	t.committed, t.conflicted, t.attempt = t.lastCommitted(), t.lastConflicts(), nil
	t.settings = s
	t.started, t.fault, t.deadErr, t.readErr = false, nil, nil, nil
	releaseView(&t.view)
	t.viewErr, t.version, t.read, t.size, t.hasQuietWrite = nil, 0, false, 0, false
	t.writes, t.known = writeMap{}, nil
	t.reads, t.direct = nil, &noDirectWrites
}

// ensureAttempt returns the attempt, for something to await its commit.
func (t *Transaction) ensureAttempt() *attempt {
	if t.attempt == nil {
		a := &attempt{}
		a.version.Store(t.committed)
		a.request.Finisher = a
		t.attempt = a
	}
	return t.attempt
}

// Snapshot implements [kv.ReadTransaction].
func (t *Transaction) Snapshot() kv.ReadTransaction { return snapshot{t} }

// isMetadata reports whether key is the system key that anyone may use.
func isMetadata(key []byte) bool { return string(key) == kv.MetadataVersionKey }

// inLegalRange returns an error unless the range lies below end.
func inLegalRange(r kv.KeyRange, end []byte) error {
	if bytes.Compare(r.Begin, end) > 0 || bytes.Compare(r.End, end) > 0 {
		return outside(r.End)
	}
	return nil
}

func outside(key []byte) error {
	return kv.NewError(kv.CodeKeyOutsideLegalRange, "key %s", keys.Printable(key))
}

// startHeld hands the read that was held back, if any, to one of the database's
// goroutines. t.mu is held.
func (t *Transaction) startHeld() {
	if t.heldRead != nil {
		t.engine.Start(t.heldRead)
		t.heldRead = nil
	}
}

// endPending takes a read out of the list of those under way.
func (t *Transaction) endPending(place int) {
	last := len(t.pending) - 1
	t.pending[place] = t.pending[last]
	t.pending[place].moveTo(place)
	t.pending[last] = nil
	if t.pending = t.pending[:last]; last == 0 {
		t.firstPending[0] = nil // pending may have outgrown it
	}
}

// giveUpReads resolves the futures of all reads under way with err. t.mu is held.
func (t *Transaction) giveUpReads(err error) {
	for _, p := range t.pending {
		p.giveUp(err)
	}
	t.pending, t.firstPending[0], t.heldRead = nil, nil, nil
	t.wakeReadWaiters()
}

// endReads is called when no read is under way any more. It returns what the
// committer must do if a commit has waited for the reads. t.mu is held.
func (t *Transaction) endReads() *txn.Request {
	t.wakeReadWaiters()
	if !t.commitWaits {
		return nil
	}
	t.commitWaits = false
	request, err := t.finishStart()
	switch {
	case err != nil:
		t.attempt.commit.Resolve(struct{}{}, err)
	case request == nil:
		t.finishReadOnly(t.attempt)
	}
	return request
}

// awaitReads waits until no read is under way. The caller holds t.mu, which it releases while it waits.
func (t *Transaction) awaitReads(ctx context.Context) error {
	t.startHeld()
	for len(t.pending) > 0 {
		if t.ended == nil {
			t.ended = make(chan struct{})
		}
		ended := t.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		t.mu.Lock()
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transaction) wakeReadWaiters() {
	if t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}
