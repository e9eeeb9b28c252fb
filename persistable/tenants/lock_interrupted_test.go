// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// lateDatabase is a database in which the context of the next commit ends while it is under
// way, and that lands before the commit returns, or when late is called.
type lateDatabase struct {
	kv.Database
	lands     bool // before the commit returns
	interrupt context.CancelFunc
	late      func() error
}

func (i *lateDatabase) Begin() (kv.Transaction, error) {
	tx, err := i.Database.Begin()
	return &lateTx{tx, i}, err
}

func (i *lateDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := i.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type lateTx struct {
	kv.Transaction
	db *lateDatabase
}

func (tx *lateTx) Commit(ctx context.Context) error {
	interrupt := tx.db.interrupt
	if interrupt == nil {
		return tx.Transaction.Commit(ctx)
	}
	tx.db.interrupt, tx.db.late = nil, func() error { return tx.Transaction.Commit(context.WithoutCancel(ctx)) }
	interrupt()
	if tx.db.lands {
		if err := tx.db.late(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, context.Cause(ctx))
}

// Cancel leaves a transaction alone whose commit is under way.
func (tx *lateTx) Cancel() {
	if tx.db.late == nil {
		tx.Transaction.Cancel()
	}
}

// TestLockInterrupted: a Lock whose context ends during its commit leaves no lock, whether the
// commit has landed or lands afterwards.
func TestLockInterrupted(t *testing.T) {
	for name, lands := range map[string]bool{"committed": true, "commits later": false} {
		t.Run(name, func(t *testing.T) {
			engine := &lateDatabase{Database: enginetest.Open(t), lands: lands}
			db := open(t, engine)
			someOrders(t, db, "a", 1)
			limited, cancel := context.WithCancel(ctx)
			engine.interrupt = cancel
			all := tenants.Of(db, "tenants")
			wantError(t, second(all.Lock(limited, "a", "export")), context.Canceled)
			if engine.late == nil {
				t.Fatal("nothing was interrupted")
			}
			if !lands {
				if err := engine.late(); !kv.IsConflict(err) {
					t.Errorf("the late commit: %v, want a conflict", err)
				}
			}
			if l, locked, err := all.LockOf(ctx, "a"); locked || err != nil {
				t.Errorf("the tenant has the lock %+v, %v", l, err)
			}
			check(t, all.Unlock(ctx, must[tenants.Lock](t)(all.Lock(ctx, "a", "again"))))
		})
	}
}
