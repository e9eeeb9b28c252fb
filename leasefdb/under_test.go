// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
)

var key = []byte("\x01data")

// TestUnder lets each kind of transaction commit under a fence that holds, lose it before the
// transaction and lose it in the middle. Without the fence all of them write.
func TestUnder(t *testing.T) {
	writes := map[string]func(db kv.Database, between func()) error{
		"Transact": func(db kv.Database, between func()) error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				tx.Set(key, nil)
				_, err := tx.Get(key).Get(ctx)
				between()
				return err
			})
		},
		"Transact without a read": func(db kv.Database, between func()) error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				between()
				tx.Set(key, nil)
				return nil
			})
		},
		"Commit": func(db kv.Database, between func()) error {
			tx := must[kv.Transaction](t)(db.Begin())
			return kv.Retry(ctx, tx, func(kv.Attempt) error {
				_, err := tx.Get(key).Get(ctx)
				tx.Set(key, nil)
				between()
				return err
			})
		},
		"CommitAsync": func(db kv.Database, between func()) error {
			tx := must[kv.Transaction](t)(db.Begin())
			defer tx.Cancel()
			for {
				_, err := tx.GetRange(kv.PrefixRange(key).Selectors(), kv.RangeOptions{}).Slice(ctx)
				if err == nil {
					tx.Set(key, nil)
					between()
					_, err = tx.CommitAsync().Get(ctx)
				}
				if err == nil {
					return nil
				}
				if err := tx.OnError(ctx, err); err != nil {
					return err
				}
			}
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, db kv.Database) {
				names := openNames(t, db)
				claim := func() leasefdb.Grant {
					return must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{}))
				}
				g := claim()
				check(t, write(g.Fence().Under(db), func() {}))
				err := write(g.Fence().Under(db), func() { check(t, g.Release(ctx, db)) })
				wantError(t, err, leasefdb.ErrLeaseLost)
				if kv.IsRetryable(err) {
					t.Error("the error is retryable")
				}
				wantError(t, write(g.Fence().Under(db), func() {}), leasefdb.ErrLeaseLost)
				check(t, write(db, func() {}))
				check(t, write(leasefdb.Fence{}.Under(db), func() {}))
			})
		})
	}
}

// TestUnderNoGrant checks that the zero Grant lets nothing be written, where the zero Fence
// lets everything.
func TestUnderNoGrant(t *testing.T) {
	db := enginetest.Open(t)
	write := func(tx kv.Transaction) error { tx.Set(key, nil); return nil }
	fence := leasefdb.Grant{}.Fence()
	if fence.IsZero() || fence.Key() != nil {
		t.Errorf("the fence of no grant: %v, key %x", fence.IsZero(), fence.Key())
	}
	if err := fence.Under(db).Transact(ctx, write); err == nil || kv.IsRetryable(err) {
		t.Errorf("a write without a grant: %v", err)
	}
	tx := must[kv.Transaction](t)(fence.Under(db).Begin())
	defer tx.Cancel()
	check(t, write(tx))
	if _, err := tx.CommitAsync().Get(ctx); err == nil {
		t.Error("a commit without a grant was made")
	}
	wantNothing(t, db)
}

// TestUnderCosts checks that the fence costs a read and no round.
func TestUnderCosts(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	g := must[leasefdb.Grant](t)(openNames(t, db).Claim(ctx, db, "job", leasefdb.Claim{}))
	n, err := db.Measure(func() error {
		return g.Fence().Under(db).Transact(ctx, func(tx kv.Transaction) error {
			_, err := tx.Get(key).Get(ctx)
			tx.Set(key, nil)
			return err
		})
	})
	check(t, err)
	if n.Rounds != 1 || n.Gets != 2 {
		t.Errorf("a fenced transaction of one read costs %v", n)
	}
}

// TestUnderLetsOptionsBeSet checks that the fence is not read before the function
// had its chance to set what must be set first.
func TestUnderLetsOptionsBeSet(t *testing.T) {
	db := enginetest.Open(t)
	g := must[leasefdb.Grant](t)(openNames(t, db).Claim(ctx, db, "job", leasefdb.Claim{}))
	check(t, g.Fence().Under(db).Transact(ctx, func(tx kv.Transaction) error {
		//persistvet:ignore outsidetx the version is that of another transaction
		version, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) (int64, error) { return tx.GetReadVersion().Get(ctx) })
		tx.SetReadVersion(version)
		tx.Set(key, nil)
		return err
	}))
}

// TestWatch checks that a watch of a name sees each change of it, the first claim
// too, and that of a grant only its end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		names := openNames(t, db)
		var g leasefdb.Grant
		changes := []struct {
			name  string
			ends  bool
			epoch int64
			do    func() error
		}{
			{"claim", false, 1, func() (err error) { g, err = names.Claim(ctx, db, "job", leasefdb.Claim{}); return err }},
			{"renewal", false, 1, func() (err error) { g, err = g.Renew(ctx, db); return err }},
			{"release", true, 1, func() error { return g.Release(ctx, db) }},
			{"claim again", false, 2, func() (err error) { g, err = names.Claim(ctx, db, "job", leasefdb.Claim{}); return err }},
			{"break", true, 2, func() error { return names.Break(ctx, db, "job", 2) }},
		}
		for _, c := range changes {
			_, seen, err := names.Watch(ctx, db, "job")
			check(t, err)
			held := kv.Resolved(struct{}{}, nil)
			if g.Epoch > 0 && c.name != "claim again" {
				check(t, db.Transact(ctx, func(tx kv.Transaction) (err error) { held, err = g.Watch(ctx, tx); return err }))
			}
			synctest.Wait()
			check(t, c.do())
			patient, stop := context.WithTimeout(ctx, time.Minute)
			_, err = seen.Get(patient)
			stop()
			if err != nil {
				t.Errorf("%s: the watch of the name: %v", c.name, err)
			}
			synctest.Wait()
			if c.ends != held.Ready() && c.name != "claim" && c.name != "claim again" {
				t.Errorf("%s: the watch of the grant is ready: %v", c.name, held.Ready())
			}
			held.Cancel()
			if s := must[leasefdb.State](t)(names.Get(ctx, db, "job")); s.Epoch != c.epoch {
				t.Errorf("%s: %+v", c.name, s)
			}
		}
		check(t, g.Release(ctx, db))
		err := db.Transact(ctx, func(tx kv.Transaction) error { _, err := g.Watch(ctx, tx); return err })
		wantError(t, err, leasefdb.ErrLeaseLost)
	})
}

// TestUnderChecksEachAttempt resets a transaction at the moments at which a check of the attempt
// before could be taken for one of the attempt that follows. No commit may be made by that.
func TestUnderChecksEachAttempt(t *testing.T) {
	ends := map[string]func(tx kv.Transaction) error{
		"Reset":   func(tx kv.Transaction) error { tx.Reset(); return nil },
		"OnError": func(tx kv.Transaction) error { return tx.OnError(ctx, kv.NewError(kv.CodeNotCommitted, "made up")) },
	}
	for name, end := range ends {
		t.Run(name+" while a commit waits for its check", func(t *testing.T) {
			db := enginetest.Open(t)
			g := must[leasefdb.Grant](t)(openNames(t, db).Claim(ctx, db, "job", leasefdb.Claim{}))
			answer := kv.NewPromise[[]byte]()
			value := must[[]byte](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get(g.Fence().Key()).Get(ctx) }))
			tx := must[kv.Transaction](t)(g.Fence().Under(&stagedDatabase{Database: db, get: answer.Future}).Begin())
			defer tx.Cancel()
			committed := tx.CommitAsync()
			check(t, end(tx))
			tx.Set(key, []byte{1})
			check(t, g.Release(ctx, db))
			answer.Resolve(value, nil)
			_, err := committed.Get(ctx)
			if kv.CodeOf(err) != kv.CodeTransactionCancelled {
				t.Errorf("the commit that was given up says %v", err)
			}
			wantNothing(t, db)
		})
		t.Run(name+" while another goroutine reads", func(t *testing.T) {
			db := enginetest.Open(t)
			g := must[leasefdb.Grant](t)(openNames(t, db).Claim(ctx, db, "job", leasefdb.Claim{}))
			under := &stagedDatabase{Database: db}
			tx := must[kv.Transaction](t)(g.Fence().Under(under).Begin())
			defer tx.Cancel()
			if name == "OnError" {
				under.onError = func() { check(t, ignore(tx.Get(key).Get(ctx))) }
			}
			check(t, ignore(tx.Get(key).Get(ctx)))
			check(t, end(tx))
			check(t, g.Release(ctx, db))
			tx.Set(key, []byte{1})
			wantError(t, tx.Commit(ctx), leasefdb.ErrLeaseLost)
			wantNothing(t, db)
		})
	}
}

func ignore[T any](_ T, err error) error { return err }

func wantNothing(t *testing.T, db kv.Database) {
	t.Helper()
	found := must[[]byte](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get(key).Get(ctx) }))
	if found != nil {
		t.Error("a write was committed though the fence did not hold")
	}
}

// stagedDatabase is a database with transactions that answer reads as get says, and call onError before
// their OnError.
type stagedDatabase struct {
	kv.Database
	get     func() kv.Future[[]byte]
	onError func()
}

func (s *stagedDatabase) Begin() (kv.Transaction, error) {
	tx, err := s.Database.Begin()
	return stagedTransaction{tx, s}, err
}

type stagedTransaction struct {
	kv.Transaction
	stage *stagedDatabase
}

func (t stagedTransaction) Get(key []byte) kv.Future[[]byte] {
	if t.stage.get != nil {
		return t.stage.get()
	}
	return t.Transaction.Get(key)
}

func (t stagedTransaction) OnError(ctx context.Context, err error) error {
	if t.stage.onError != nil {
		t.stage.onError()
	}
	return t.Transaction.OnError(ctx, err)
}
