// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestStoreWaitsForItsFirstLease: the database stops to answer after Open. A store's ids wait
// for it, even with Fallback: random ones begin only after a try to lease has failed.
func TestStoreWaitsForItsFirstLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour)))
		engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
		db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Fallback: true}}))
		orders := OrderStoreOf(db, "t")
		engine.SetDown(true)
		if o := orders.New(Order{Number: "1"}); o.ID != 0 {
			t.Errorf("the constructor made %d, fallback %v", o.ID, o.ID.IsFallback())
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err := orders.Create(short, &Order{TenantID: "t", Number: "1", CreatedAt: day0})
		wantError(t, err, persistable.ErrNoID, "gave up waiting for a lease")
		wantError(t, err, context.DeadlineExceeded)
		if n := db.IDs().(*idgen.Client).Metrics().RandomFallbackIDs; n != 0 {
			t.Errorf("%d random ids before any try to lease has failed", n)
		}
		if id := must[idgen.ID](t)(db.IDs().Next(ctx)); !id.IsFallback() {
			t.Errorf("the id after a failed try is %d, want a fallback id", id)
		}
		engine.SetDown(false)
		check(t, db.Close())
	})
}

// TestOutageNamesVerbAndRecord: a database that does not answer ends each verb with its
// context. The error says what was done to which record, and what was waited for.
func TestOutageNamesVerbAndRecord(t *testing.T) {
	type outage struct {
		db *persistable.DB
		s  *OrderStore
	}
	pay := func(o *Order) error { o.Status = Shipped; return nil }
	for name, verb := range map[string]func(context.Context, outage) error{
		"Get of Order (1)":    func(ctx context.Context, o outage) error { _, err := o.s.Get(ctx, 1); return err },
		"Exists of Order (1)": func(ctx context.Context, o outage) error { _, err := o.s.Exists(ctx, 1); return err },
		"Update of Order (1)": func(ctx context.Context, o outage) error { return o.s.Update(ctx, 1, pay) },
		"Delete of Order (1)": func(ctx context.Context, o outage) error { return o.s.Delete(ctx, 1) },
		"CreateWithID of Order (2)": func(ctx context.Context, o outage) error {
			return o.s.CreateWithID(ctx, 2, &Order{TenantID: "t", Number: "2", CreatedAt: day0})
		},
		"Save of Order (2)": func(ctx context.Context, o outage) error {
			return o.s.Save(ctx, &Order{ID: 2, TenantID: "t", Number: "2", CreatedAt: day0})
		},
		"All of Order": func(ctx context.Context, o outage) (last error) {
			for _, err := range o.s.ByStatus(Pending).All(ctx) {
				last = err
			}
			return last
		},
		"CreateMany of Order": func(ctx context.Context, o outage) error {
			return o.s.CreateMany(ctx, []*Order{{ID: 2, TenantID: "t", Number: "2", CreatedAt: day0}}, persistable.BatchOptions{})
		},
		"SaveMany of Order": func(ctx context.Context, o outage) error {
			return o.s.SaveMany(ctx, []*Order{{ID: 2, TenantID: "t", Number: "2", CreatedAt: day0}}, persistable.BatchOptions{})
		},
		"DeleteMany of Order": func(ctx context.Context, o outage) error {
			return persistable.DeleteMany(ctx, &o.s.Store, []idgen.ID{1}, persistable.BatchOptions{})
		},
		"DeleteWhere of Order": func(ctx context.Context, o outage) error {
			_, err := o.s.DeleteWhere(ctx, o.s.Scan(), persistable.BatchOptions{})
			return err
		},
		"Aggregate of Sale": func(ctx context.Context, o outage) error { _, err := SaleStoreOf(o.db).CountAll(ctx); return err },
		"Aggregates of Sale": func(ctx context.Context, o outage) (last error) {
			for _, err := range SaleStoreOf(o.db).CountsByTags(ctx) {
				last = err
			}
			return last
		},
		"Extreme of Sale": func(ctx context.Context, o outage) error { _, _, err := SaleStoreOf(o.db).MinDiscount(ctx); return err },
		"Rank of Player": func(ctx context.Context, o outage) error {
			_, err := PlayerStoreOf(o.db).RankOfScore(ctx, 1)
			return err
		},
		"GetUnique of Order": func(ctx context.Context, o outage) error { _, err := o.s.ByNumber(ctx, "1"); return err },
		"Transact: persistable: Get of Order (1)": func(ctx context.Context, o outage) error {
			return o.db.Transact(ctx, func(tx persistable.Tx) error { _, err := o.s.In(tx).Get(ctx, 1); return err })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
			db := open(t, engine)
			s := OrderStoreOf(db, "t")
			firstOrder(t, s)
			engine.SetDown(true)
			short, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			err := verb(short, outage{db, s})
			wantError(t, err, context.DeadlineExceeded, name, "the database has not answered for 3s", "fdbcli")
			if kv.IsOutcomeUnknown(err) {
				t.Errorf("%s: %v, but nothing was being committed", name, err)
			}
			engine.SetDown(false)
		})
	}
}

// TestOutageDuringACommit: the commit is not answered: the outcome is unknown, and the error
// has the same names.
func TestOutageDuringACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		err := s.Update(short, 1, func(o *Order) error { o.Amount++; engine.SetDown(true); return nil })
		wantError(t, err, context.DeadlineExceeded, "Update of Order (1)", "the database has not answered for 3s")
		wantError(t, err, kv.ErrOutcomeUnknown)
		engine.SetDown(false)
	})
}

// shutdown is a cause that cannot be compared: its type can, its value cannot.
type shutdown struct{ faults any }

// Error implements error.
func (shutdown) Error() string { return "shutdown" }

// TestIncomparableCause: a verb that such a cause ends has the same error as another one.
func TestIncomparableCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
		s := OrderStoreOf(open(t, engine), "t")
		firstOrder(t, s)
		soon := func() context.Context {
			ending, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(3*time.Second, func() { cancel(shutdown{[]string{"x"}}) })
			return ending
		}
		engine.SetDown(true)
		_, err := s.Get(soon(), 1)
		if text := err.Error(); !strings.Contains(text, "Get of Order (1)") || !strings.Contains(text, "fdbcli") || !strings.Contains(text, "shutdown") {
			t.Errorf("a read: %v", err)
		}
		engine.SetDown(false)
		err = s.Update(soon(), 1, func(o *Order) error { o.Amount++; engine.SetDown(true); return nil })
		wantError(t, err, kv.ErrOutcomeUnknown, "Update of Order (1)")
		engine.SetDown(false)
	})
}

// TestTracedOutage: an operation with a tracer waits for a record that it knows the place of. The
// error says for how long it has waited.
func TestTracedOutage(t *testing.T) {
	for name, verb := range map[string]func(context.Context, *OrderStore) error{
		"Get": func(ctx context.Context, s *OrderStore) error { _, err := s.Get(ctx, 1); return err },
		"Update": func(ctx context.Context, s *OrderStore) error {
			return s.Update(ctx, 1, func(*Order) error { return nil })
		},
		"Delete": func(ctx context.Context, s *OrderStore) error { return s.Delete(ctx, 1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
			tracer := persistable.LogSlow(slog.New(slog.DiscardHandler), 0)
			db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{Tracer: tracer}))
			s := OrderStoreOf(db, "t")
			firstOrder(t, s)
			must[*Order](t)(s.Get(ctx, 1)) // the directory is open
			engine.SetDown(true)
			short, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			err := verb(short, s)
			wantError(t, err, context.DeadlineExceeded, name+" of Order (1)", "has not answered for 3s", "fdbcli")
			engine.SetDown(false)
			check(t, db.Close())
		})
	}
}
