// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

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
//     1021, before a commit or after a real one whose acknowledgement it loses.
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
	rng := rand.New(rand.NewPCG(h.options.Seed, h.begun))
	h.mu.Unlock()
	if rng.IntN(8) == 0 {
		h.jump()
	}
	inner, err := h.inner.Begin()
	if err != nil {
		return nil, err
	}
	return newHostileTx(inner, rng, h.options), nil
}

// jump makes the next versions differ by more than one commit, without
// touching data: the commit holds nothing but a write conflict, behind all keys
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
	_ = tx.Commit(context.Background()) // a jump that fails is no jump
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
