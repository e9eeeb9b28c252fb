// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

type userKey struct{}

// asAda is the context of a request of Ada.
var asAda = context.WithValue(ctx, userKey{}, "ada")

// auditOrders gives Order hooks that write a note for each order: the user that saved or deleted it, and its
// number.
func auditOrders(t *testing.T) {
	audit := func(ctx context.Context, tx, v any, verb string) error {
		o, t := v.(*Order), tx.(persistable.Tx)
		user, _ := ctx.Value(userKey{}).(string)
		return NoteStoreOf(t.DB()).In(t).Save(ctx, &Note{ID: int64(o.ID), Text: user + " " + verb + " " + o.Number})
	}
	setHooks(t, &orderSchema, persistimpl.Hooks{
		BeforeSaveIn: func(ctx context.Context, tx, v any) error { return audit(ctx, tx, v, "saved") },
		Validate: func(v any) error {
			if v.(*Order).Number == "refused" {
				return errRefused
			}
			return nil
		},
		BeforeDelete: func(ctx context.Context, tx, v any) error {
			if v.(*Order).Status == Paid {
				return errRefused
			}
			return audit(ctx, tx, v, "deleted")
		},
	})
}

// noteOf returns the text of the note of an order, "" if there is none.
func noteOf(t *testing.T, db *persistable.DB, id idgen.ID) string {
	t.Helper()
	n, err := NoteStoreOf(db).Get(ctx, int64(id))
	if errors.Is(err, persistable.ErrNotFound) {
		return ""
	}
	check(t, err)
	return n.Text
}

// TestHooksInTheTransaction: a hook that takes the transaction writes in that of each verb, with the
// context of the verb.
func TestHooksInTheTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		auditOrders(t)
		order := func(number string) *Order { return &Order{ID: 1, TenantID: "t", Number: number} }
		stored := func() *Order { return must[*Order](t)(s.Get(ctx, 1)) }
		for _, verb := range []struct {
			name, want string
			run        func(number string) error
		}{
			{"Create", "saved", func(n string) error { return s.Create(asAda, order(n)) }},
			{"Save", "saved", func(n string) error { return s.Save(asAda, order(n)) }},
			{"SaveExisting", "saved", func(n string) error { return s.SaveExisting(asAda, order(n)) }},
			{"SaveIfUnchanged", "saved", func(n string) error { return s.SaveIfUnchanged(asAda, stored(), order(n)) }},
			{"Update", "saved", func(n string) error {
				return s.Update(asAda, 1, func(o *Order) error { o.Number = n; return nil })
			}},
			{"SaveMany", "saved", func(n string) error {
				return s.SaveMany(asAda, []*Order{{ID: 2, TenantID: "t", Number: "two"}, order(n)}, persistable.BatchOptions{})
			}},
			{"In", "saved", func(n string) error {
				return db.Transact(asAda, func(tx persistable.Tx) error { return s.In(tx).Save(asAda, order(n)) })
			}},
			{"Delete", "deleted", func(n string) error {
				check(t, s.Save(ctx, order(n)))
				return s.Delete(asAda, 1)
			}},
			{"CreateWithID", "saved", func(n string) error { return s.CreateWithID(asAda, 1, order(n)) }},
			{"DeleteIfUnchanged", "deleted", func(n string) error {
				check(t, s.Save(ctx, order(n)))
				return s.DeleteIfUnchanged(asAda, stored())
			}},
			{"GetOrCreate", "saved", func(n string) error {
				_, _, err := s.GetOrCreate(asAda, order(n))
				return err
			}},
			{"DeleteMany", "deleted", func(n string) error {
				check(t, s.Save(ctx, order(n)))
				return persistable.DeleteMany(asAda, &s.Store, []idgen.ID{7, 1}, persistable.BatchOptions{})
			}},
			{"CreateMany", "saved", func(n string) error { return s.CreateMany(asAda, []*Order{order(n)}, persistable.BatchOptions{}) }},
			{"DeleteWhere", "deleted", func(n string) error {
				check(t, s.Save(ctx, order(n)))
				_, err := s.DeleteWhere(asAda, s.Scan(), persistable.BatchOptions{})
				return err
			}},
		} {
			check(t, verb.run(verb.name))
			if got, want := noteOf(t, db, 1), "ada "+verb.want+" "+verb.name; got != want {
				t.Errorf("%s: the note says %q, want %q", verb.name, got, want)
			}
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestHooksInTheTransactionRefused: what hooks have written is not committed without the record.
func TestHooksInTheTransactionRefused(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		check(t, s.CreateWithID(ctx, 100, &Order{TenantID: "t", Number: "taken", Status: Paid}))
		auditOrders(t)
		taken := &Order{ID: 1, TenantID: "t", Number: "taken"}
		refused := &Order{ID: 1, TenantID: "t", Number: "refused"}
		wantAs[*persistable.UniqueError](t, s.Create(asAda, taken))
		wantError(t, s.Save(asAda, refused), persistable.ErrRefused)
		wantError(t, s.Delete(asAda, 100), persistable.ErrRefused)
		wantError(t, persistable.DeleteMany(asAda, &s.Store, []idgen.ID{100}, persistable.BatchOptions{}), persistable.ErrRefused)
		wantError(t, s.Update(asAda, 100, func(o *Order) error { o.Number = "refused"; return nil }), persistable.ErrRefused)
		err := db.Transact(asAda, func(tx persistable.Tx) error {
			if err := s.In(tx).Create(asAda, taken); !errors.As(err, new(*persistable.UniqueError)) {
				return err
			}
			return nil // and goes on
		})
		wantAs[*persistable.UniqueError](t, err)
		found, created, err := s.GetOrCreate(asAda, &Order{ID: 1, TenantID: "t", Number: "taken"})
		if check(t, err); created || found.ID != 100 {
			t.Errorf("GetOrCreate returned %d, created %v", found.ID, created)
		}
		for _, id := range []idgen.ID{1, 100} {
			if note := noteOf(t, db, id); note != "" {
				t.Errorf("a note of %d is there: %q", id, note)
			}
		}
		if o := must[*Order](t)(s.Get(ctx, 100)); o.Number != "taken" {
			t.Errorf("the stored order is %+v", o)
		}

		many := []*Order{{ID: 1, Number: "1"}, {ID: 2, Number: "2"}, {ID: 3, Number: "taken"}, {ID: 4, Number: "4"}}
		for _, o := range many {
			o.TenantID = "t"
		}
		partial := wantAs[*persistable.PartialError](t, s.CreateMany(asAda, many, persistable.BatchOptions{}))
		if partial.Done != 2 || !errors.As(error(partial), new(*persistable.UniqueError)) {
			t.Errorf("CreateMany stopped with %v, after %d", partial, partial.Done)
		}
		if notes := []string{noteOf(t, db, 1), noteOf(t, db, 2), noteOf(t, db, 3), noteOf(t, db, 4)}; !slices.Equal(notes, []string{"ada saved 1", "ada saved 2", "", ""}) {
			t.Errorf("the notes are %q", notes)
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestHooksOutsideTheTransaction: a hook that forgets In is told so, and one that changes the id.
func TestHooksOutsideTheTransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	save := func() error { return s.Save(ctx, &Order{ID: 1, TenantID: "t", Number: "1"}) }
	setHooks(t, &orderSchema, persistimpl.Hooks{BeforeSaveIn: func(ctx context.Context, tx, v any) error {
		return NoteStoreOf(tx.(persistable.Tx).DB()).Save(ctx, &Note{ID: 1})
	}})
	wantError(t, save(), persistable.ErrOutsideTransaction)
	setHooks(t, &orderSchema, persistimpl.Hooks{ValidateIn: func(ctx context.Context, tx, v any) error {
		v.(*Order).ID = 2
		return nil
	}})
	if e := wantAs[*persistable.FieldError](t, save()); e.Field != "ID" {
		t.Errorf("another id: %v", e)
	}
	setHooks(t, &artSchema, persistimpl.Hooks{BeforeCreateIn: func(ctx context.Context, tx, v any) error {
		v.(*Art).ID = int32(len(v.(*Art).Name))
		return nil
	}})
	check(t, ArtStoreOf(db).Create(ctx, &Art{Name: "four"}))
	if a := must[*Art](t)(ArtStoreOf(db).Get(ctx, 4)); a.Name != "four" {
		t.Errorf("a hook set the id: %+v", a)
	}
	wantError(t, ArtStoreOf(db).Save(ctx, &Art{Name: "five"}), persistable.ErrNoID)
}

// TestAfterCommit: the method is called once for each record that a transaction has written,
// after a lost acknowledgement too, and never for what was not committed.
func TestAfterCommit(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	s := OrderStoreOf(db, "t")
	check(t, s.CreateWithID(ctx, 100, &Order{TenantID: "t", Number: "first"}))
	var told []string
	setHooks(t, &orderSchema, persistimpl.Hooks{AfterCommit: func(ctx context.Context, v any) {
		o := must[*Order](t)(s.Get(ctx, v.(*Order).ID)) // a store needs no binding any more
		told = append(told, o.Number)
	}})
	one := &Order{ID: 1, TenantID: "t", Number: "1"}
	for _, c := range []struct {
		name, want string
		commits    func(int, func() error) error
		run        func() error
	}{
		{"a lost acknowledgement", "1", fates(lost), func() error { return s.Create(ctx, one) }},
		{"what was stored already", "", nil, func() error { return s.Save(ctx, one) }},
		{"a conflict", "1", fates(conflict), func() error { one.Amount++; return s.Save(ctx, one) }},
		{"a commit that was lost", "1", fates(dropped), func() error { one.Amount++; return s.Save(ctx, one) }},
		{"no record", "", nil, func() error { return ignore(s.Create(ctx, one), persistable.ErrExists) }},
		{"several records", "1 2", fates(conflict), func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				one.Amount++ //persistvet:ignore retryeffect any new amount will do
				return errors.Join(s.In(tx).Save(ctx, one), s.In(tx).Save(ctx, &Order{ID: 2, TenantID: "t", Number: "2"}), s.In(tx).Delete(ctx, 100))
			})
		}},
		{"a function that fails", "", nil, func() error {
			return ignore(db.Transact(ctx, func(tx persistable.Tx) error {
				one.Amount++ //persistvet:ignore retryeffect any new amount will do
				return errors.Join(s.In(tx).Save(ctx, one), errRefused)
			}), errRefused)
		}},
		{"two writes of a record", "1", nil, func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				one.Amount++ //persistvet:ignore retryeffect any new amount will do
				first := *one
				one.Amount++ //persistvet:ignore retryeffect any new amount will do
				return errors.Join(s.In(tx).Save(ctx, &first), s.In(tx).Save(ctx, one))
			})
		}},
		{"written and deleted", "", nil, func() error {
			return db.Transact(ctx, func(tx persistable.Tx) error {
				return errors.Join(s.In(tx).Save(ctx, &Order{ID: 3, TenantID: "t", Number: "3"}), s.In(tx).Delete(ctx, 3))
			})
		}},
		{"many", "4 5", fates(lost), func() error {
			return s.CreateMany(ctx, []*Order{{ID: 4, TenantID: "t", Number: "4"}, {ID: 5, TenantID: "t", Number: "5"}}, persistable.BatchOptions{})
		}},
	} {
		told = nil
		engine.begin(nil, c.commits)
		check(t, c.run())
		engine.begin(nil, nil)
		if got := strings.Join(told, " "); got != c.want {
			t.Errorf("%s: told %q, want %q", c.name, got, c.want)
		}
	}
	told = nil
	engine.begin(nil, func(n int, commit func() error) error { return errors.Join(kv.ErrClosed, commit()) })
	err := s.Save(ctx, &Order{ID: 6, TenantID: "t", Number: "6"})
	engine.begin(nil, nil)
	if err == nil || len(told) > 0 {
		t.Errorf("a commit of unknown outcome: %v, told %q", err, told)
	}
}
