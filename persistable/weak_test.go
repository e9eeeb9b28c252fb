// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// pastEngine is an engine of weak reads: the first attempt of each transaction reads at a version that
// the test chooses.
type pastEngine struct {
	kv.Database
	version atomic.Int64 // 0: the newest
}

func (p *pastEngine) Begin() (kv.Transaction, error) {
	tx, err := p.Database.Begin()
	if version := p.version.Load(); err == nil && version != 0 {
		tx.SetReadVersion(version)
	}
	return pastTx{tx}, err
}

// pastTx is a transaction that takes another version in place of that of the past.
type pastTx struct{ kv.Transaction }

func (t pastTx) SetReadVersion(version int64) {
	t.Reset()
	t.Transaction.SetReadVersion(version)
}

func (p *pastEngine) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := p.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (p *pastEngine) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := p.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// weakDB returns a DB of weak reads, and another one of the same database.
func weakDB(t *testing.T) (past *pastEngine, weak, other *persistable.DB) {
	past = &pastEngine{Database: enginetest.Open(t)}
	return past, open(t, past), open(t, past.Database)
}

func (p *pastEngine) newest(t *testing.T) int64 {
	t.Helper()
	return must[int64](t)(kv.ReadTransact(ctx, p.Database, func(tx kv.ReadTransaction) (int64, error) {
		return tx.GetReadVersion().Get(ctx)
	}))
}

func newOrder(s *OrderStore, number string) *Order {
	return s.New(Order{Number: number, Status: Paid, CreatedAt: day0, Amount: 1})
}

// What a process remembers of stores and directories holds at the version that is read.
func TestWeakReadsOfARemovedTenant(t *testing.T) {
	past, weak, other := weakDB(t)
	s, elsewhere := OrderStoreOf(weak, "t"), OrderStoreOf(other, "t")
	old := newOrder(elsewhere, "1")
	check(t, elsewhere.Create(ctx, old))
	must[*Order](t)(s.Get(ctx, old.ID))
	before := past.newest(t)

	check(t, other.RemoveDirectory(ctx, "tenants", "t"))
	u := OrderStoreOf(other, "u")
	check(t, u.Create(ctx, newOrder(u, "of another tenant")))
	created := newOrder(elsewhere, "2")
	check(t, elsewhere.Create(ctx, created))

	for range 3 {
		past.version.Store(before)
		must[*Order](t)(s.Get(ctx, old.ID))
		_, err := s.Get(ctx, created.ID)
		wantError(t, err, persistable.ErrNotFound)
		past.version.Store(0)
		must[*Order](t)(s.Get(ctx, created.ID))
		_, err = s.Get(ctx, old.ID)
		wantError(t, err, persistable.ErrNotFound)
	}
}

// A transaction that has read at an old version does not write there.
func TestWeakWritesToARemovedTenant(t *testing.T) {
	past, weak, other := weakDB(t)
	s, elsewhere := OrderStoreOf(weak, "t"), OrderStoreOf(other, "t")
	old := newOrder(elsewhere, "1")
	check(t, elsewhere.Create(ctx, old))
	before := past.newest(t)
	check(t, other.RemoveDirectory(ctx, "tenants", "t"))
	u := OrderStoreOf(other, "u")
	check(t, u.Create(ctx, newOrder(u, "1")))

	past.version.Store(before)
	check(t, s.Delete(ctx, old.ID))
	wantError(t, s.Update(ctx, old.ID, func(o *Order) error { o.Amount++; return nil }), persistable.ErrNotFound)
	check(t, s.Create(ctx, newOrder(s, "2")))
	past.version.Store(0)
	for name, store := range map[string]*OrderStore{"t": s, "u": u} {
		if n := must[int](t)(store.Scan().Count(ctx)); n != 1 {
			t.Errorf("%s has %d records", name, n)
		}
		sound(t, store.Indexes().Verify)
	}
}
