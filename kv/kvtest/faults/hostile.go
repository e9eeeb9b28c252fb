// SPDX-License-Identifier: Apache-2.0

// Package faults has wrappers of engines for the tests of layers: one that
// behaves as badly as the contract of package kv allows, and one that counts what
// a layer asks of the engine.
//
//	func TestDeposits(t *testing.T) {
//		db := faults.HostileT(t, openEngine(t)) // every transaction runs more than once
//		counter := faults.NewCounter(db)
//		cost, err := counter.Measure(func() error { return deposit(t.Context(), counter, 10) })
//		if err != nil {
//			t.Fatal(err)
//		}
//		if cost.Rounds > 4 {
//			t.Errorf("a deposit waits for %d rounds of reads", cost.Rounds)
//		}
//	}
//
// [Hostile] loses acknowledgements, forces retries, expires transactions, cuts
// range reads into small batches, resolves futures late and out of order and
// fires watches without a change.
//
// # Concurrency and transactions
//
// A wrapped database is safe for concurrent use; a wrapped transaction is as safe
// as package kv says. The wrappers keep every law of the contract; [Options] lists
// the liberties that [Hostile] takes.
package faults

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// Options says how hostile [Hostile] is. The zero value is a good choice.
type Options struct {
	// Seed fixes the choices: the n-th transaction of a wrapper meets the same
	// fate in every run with the same seed.
	Seed uint64
	// Faults is how many errors one transaction suffers at most; then it is
	// honest, so that programs finish. The first is certain. 0 means 3.
	Faults int
	// MaxDelay is how late a future becomes ready at most. 0 means 300 µs,
	// less than 0 no delay at all.
	MaxDelay time.Duration
	// SpareExplicit lets transactions that the program began itself with Begin
	// fail only where the engine fails. They still meet small batches, late
	// futures, version jumps and needless watches. It is for tests that lay out
	// an interleaving step by step and check which
	// transaction conflicts.
	SpareExplicit bool
}

// Hostile returns db with a worse temper. It keeps every law of the contract
// and uses its liberties:
//
//   - Each transaction fails at least once: its first commit with 1020 or with
//     1021, before a commit or after a real one, of which it loses the acknowledgement.
//     Read-only transactions, which cannot conflict, expire instead (1007).
//   - Transactions expire now and then: a read, all later ones and the commit
//     fail with 1007 until OnError.
//   - Range reads come in batches of random size.
//   - Versions jump between transactions.
//   - Futures become ready late and out of order.
//   - Watches fire without a change.
//
// Back-off is cut to about a millisecond. Closing it closes db.
func Hostile(db kv.Database, o Options) kv.Database {
	o.Faults = cmp.Or(o.Faults, 3)
	o.MaxDelay = cmp.Or(o.MaxDelay, 300*time.Microsecond)
	return &hostileDB{inner: db, options: o}
}

// HostileT is [Hostile] for a test: its seed is that of the test
// ([seed.Of]).
func HostileT(t testing.TB, db kv.Database) kv.Database {
	t.Helper()
	return Hostile(db, Options{Seed: seed.Of(t)})
}

type hostileDB struct {
	inner   kv.Database
	options Options

	mu    sync.Mutex
	begun uint64
}

// Begin implements [kv.Database].
func (h *hostileDB) Begin() (kv.Transaction, error) {
	tx, err := h.begin()
	if err != nil {
		return nil, err
	}
	if h.options.SpareExplicit {
		tx.faults = 0
	}
	return tx, nil
}

func (h *hostileDB) begin() (*hostileTx, error) {
	h.mu.Lock()
	h.begun++
	fate := rand.New(rand.NewPCG(h.options.Seed, h.begun))
	h.mu.Unlock()
	if fate.IntN(8) == 0 {
		h.jump()
	}
	inner, err := h.inner.Begin()
	if err != nil {
		return nil, err
	}
	return newHostileTx(inner, fate, h.options), nil
}

// jump makes the next versions differ by more than one commit, without
// touching data: the commit holds nothing but a write conflict, after all keys
// that programs read.
func (h *hostileDB) jump() {
	tx, err := h.inner.Begin()
	if err != nil {
		return
	}
	defer tx.Cancel()
	if tx.SetOption(kv.OptionAccessSystemKeys, 0) != nil || tx.AddWriteConflictKey([]byte("\xff\x02/kvtest/jump")) != nil {
		return
	}
	_ = tx.Commit(context.Background()) // a jump that fails does not count
}

// Transact implements [kv.Transactor].
func (h *hostileDB) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := h.begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (h *hostileDB) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := h.begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.expireOnce()
	})
}

// Close implements [kv.Database].
func (h *hostileDB) Close() error { return h.inner.Close() }

// hostileView reads for a hostileTx, either the transaction or its snapshot.
type hostileView struct {
	t    *hostileTx
	view kv.ReadTransaction
}

// read starts a read, or fails it.
func read[T any](t *hostileTx, start func() kv.Future[T]) kv.Future[T] {
	if err := t.readFault(); err != nil {
		var zero T
		return kv.Resolved(zero, err)
	}
	return delay(t, start())
}

// Get implements [kv.ReadTransaction].
func (v hostileView) Get(key []byte) kv.Future[[]byte] {
	return read(v.t, func() kv.Future[[]byte] { return v.view.Get(key) })
}

// GetKey implements [kv.ReadTransaction].
func (v hostileView) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return read(v.t, func() kv.Future[[]byte] { return v.view.GetKey(sel) })
}

// GetReadVersion implements [kv.ReadTransaction].
func (v hostileView) GetReadVersion() kv.Future[int64] {
	return read(v.t, v.view.GetReadVersion)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v hostileView) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	return read(v.t, func() kv.Future[int64] { return v.view.GetEstimatedRangeSizeBytes(r) })
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v hostileView) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return read(v.t, func() kv.Future[[][]byte] { return v.view.GetRangeSplitPoints(r, chunkSize) })
}

// GetRange implements [kv.ReadTransaction].
func (v hostileView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	if o.Limit < 0 || o.Limit == 0 && o.Mode == kv.ModeExact {
		return v.view.GetRange(r, o) // for the engine to refuse
	}
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return read(v.t, func() kv.Future[kv.Batch] { return v.batch(req) })
	})
}

// batch reads one batch, cut to a random size.
func (v hostileView) batch(req kv.BatchRequest) kv.Future[kv.Batch] {
	size := v.t.batchSize(req)
	req.RangeOptions.Limit = size
	return shorten(v.view.GetRange(req.SelectorRange, req.RangeOptions).First(), size)
}

// cutBatch is a batch that was asked for with a smaller limit than the
// program's: where the limit ended it, more may follow.
type cutBatch struct {
	kv.Future[kv.Batch]
	size int
}

func shorten(future kv.Future[kv.Batch], size int) kv.Future[kv.Batch] {
	return kv.NewFuture[kv.Batch](cutBatch{future, size})
}

// Result implements [kv.PendingResult].
func (c cutBatch) Result() (kv.Batch, error) {
	batch, err := c.Get(context.Background())
	batch.More = batch.More || err == nil && len(batch.KVs) == c.size
	return batch, err
}

// Snapshot implements [kv.ReadTransaction].
func (v hostileView) Snapshot() kv.ReadTransaction { return hostileView{v.t, v.view.Snapshot()} }

// SetOptions implements [kv.ReadTransaction].
func (v hostileView) SetOptions(o kv.TransactionOptions) error { return v.view.SetOptions(o) }

// ReadTransact implements [kv.ReadTransactor].
func (v hostileView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

// Counts is what a program asked of a database.
type Counts = measure.Counts

// Counter is a database that counts what is asked of it. It is safe for
// concurrent use, but rounds mean something only where one goroutine uses a
// transaction: they are counted for each transaction and added up.
type Counter struct {
	kv.Database
	meter *measure.Meter
}

// NewCounter wraps db. A read counts also where the engine answers it from the
// transaction's own writes, since a program cannot rely on that.
func NewCounter(db kv.Database) *Counter {
	m := &measure.Meter{}
	return &Counter{m.Database(db), m}
}

// Counts returns what was counted so far.
func (c *Counter) Counts() Counts { return c.meter.Usage().Counts }

// Measure runs fn and returns what it cost and its error.
func (c *Counter) Measure(fn func() error) (Counts, error) {
	before := c.Counts()
	err := fn()
	return c.Counts().Sub(before), err
}
