// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

func TestTenants(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		for _, name := range []string{"b", "a", "c"} {
			s := OrderStoreOf(db, name)
			check(t, s.Create(ctx, s.New(Order{Number: "same number", Status: Paid, CreatedAt: day0, Amount: 1})))
		}
		list := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, must[[]string](t)(db.ListDirectory(ctx, "tenants"))); diff != "" {
				t.Errorf("tenants (-want +got):\n%s", diff)
			}
		}
		list("a", "b", "c")
		before := len(dump(t, db))
		check(t, db.RemoveDirectory(ctx, "tenants", "b"))
		list("a", "c")
		if after := len(dump(t, db)); after >= before-4 {
			t.Errorf("of %d keys %d are left", before, after)
		}
		b := OrderStoreOf(db, "b")
		_, err := b.ByNumber(ctx, "same number")
		wantError(t, err, persistable.ErrNotFound)
		wantError(t, db.RemoveDirectory(ctx, "tenants", "b"), persistable.ErrNotFound)
		if n := must[int](t)(OrderStoreOf(db, "a").Scan().Count(ctx)); n != 1 {
			t.Errorf("the other tenant has %d records", n)
		}

		// Created again it is empty, and nothing of the old one comes back.
		check(t, b.Create(ctx, b.New(Order{Number: "new number", Status: Paid, CreatedAt: day0, Amount: 1})))
		list("a", "b", "c")
		if n := must[int](t)(b.Scan().Count(ctx)); n != 1 {
			t.Errorf("the new tenant has %d records", n)
		}
		sound(t, b.Indexes().Verify)
	})
}

// A tenant that another process removes is not written to through what this
// one remembers of it.
func TestTenantRemovedByAnotherHandle(t *testing.T) {
	engine := enginetest.Open(t)
	one, other := open(t, engine), open(t, engine)
	s := OrderStoreOf(one, "t")
	o := s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
	check(t, s.Create(ctx, o))
	must[*Order](t)(s.Get(ctx, o.ID))
	check(t, other.RemoveDirectory(ctx, "tenants", "t"))
	_, err := s.Get(ctx, o.ID)
	wantError(t, err, persistable.ErrNotFound)

	// Another store gets the next prefix; then the first one writes again.
	u := OrderStoreOf(other, "u")
	check(t, u.Create(ctx, u.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})))
	check(t, s.Create(ctx, s.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1})))
	for name, store := range map[string]*OrderStore{"t": s, "u": u} {
		if n := must[int](t)(store.Scan().Count(ctx)); n != 1 {
			t.Errorf("%s has %d records", name, n)
		}
		sound(t, store.Indexes().Verify)
	}
}

// In a transaction that read before the removal and commits after it, the
// removal wins.
func TestTenantRemovedDuringATransaction(t *testing.T) {
	for name, work := range map[string]func(s *OrderStore, o *Order) error{
		"Save": func(s *OrderStore, o *Order) error { o.Amount++; return s.Save(ctx, o) },
		"Create": func(s *OrderStore, _ *Order) error {
			return s.Create(ctx, s.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1}))
		},
		"Delete": func(s *OrderStore, o *Order) error { return s.Delete(ctx, o.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := OrderStoreOf(db, "t")
			o := s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
			check(t, s.Create(ctx, o))
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			defer tx.Cancel()
			check(t, work(s.In(db.In(tx)), o))
			check(t, db.RemoveDirectory(ctx, "tenants", "t"))
			if err := tx.Commit(ctx); !kv.IsConflict(err) {
				t.Errorf("Commit = %v, want a conflict", err)
			}
			if n := len(must[[]string](t)(db.ListDirectory(ctx, "tenants"))); n != 0 {
				t.Errorf("%d tenants are left", n)
			}
		})
	}
}

// Tenants are removed while others write to them: no key may be left outside of
// a directory, and no entry without its record.
func TestTenantsRemovedWhileWritten(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		names := []string{"a", "b"}
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				s := OrderStoreOf(db, names[w%2])
				for i := range 25 {
					o := s.New(Order{Number: fmt.Sprint(w, "-", i), Status: Paid, CreatedAt: day0, Amount: 1})
					if err := s.Create(ctx, o); err != nil {
						t.Error(err)
						return
					}
					o.Status = Shipped
					if err := s.Save(ctx, o); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i := range 10 {
			err := db.RemoveDirectory(ctx, "tenants", names[i%2])
			if err != nil && !errors.Is(err, persistable.ErrNotFound) {
				t.Error(err)
			}
		}
		writers.Wait()
		for _, name := range names {
			sound(t, OrderStoreOf(db, name).Indexes().Verify)
			if err := db.RemoveDirectory(ctx, "tenants", name); err != nil && !errors.Is(err, persistable.ErrNotFound) {
				t.Error(err)
			}
		}
		for key := range dump(t, db) {
			if strings.Contains(key, "\x02Order") {
				t.Errorf("a key is left outside of all directories: %q", key)
			}
		}
	})
}

func TestDirectoryArguments(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		names := []string{"a/b", "a", "/", "..", "a\x00b", " ", "日本", strings.Repeat("x", 4096), "{TenantID}"}
		for i, name := range names {
			s := OrderStoreOf(db, name)
			if got := s.New(Order{}).TenantID; got != name {
				t.Errorf("a new record has the TenantID %q, want %q", got, name)
			}
			check(t, s.Create(ctx, s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: int64(i)})))
		}
		for i, name := range names {
			s := OrderStoreOf(db, name)
			if o := must[*Order](t)(s.ByNumber(ctx, "1")); o.Amount != int64(i) {
				t.Errorf("%q has the record of %q", name, names[o.Amount])
			}
			if diff := cmp.Diff([]string{"tenants", name, "orders"}, s.Path()); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
		}
		if n := len(must[[]string](t)(db.ListDirectory(ctx, "tenants"))); n != len(names) {
			t.Errorf("%d tenants, want %d", n, len(names))
		}
		check(t, db.RemoveDirectory(ctx, "tenants", "a/b"))
		must[*Order](t)(OrderStoreOf(db, "a").ByNumber(ctx, "1"))
	})
}

func TestDirectoryArgumentsThatAreRefused(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for name, want := range map[string]string{
		"":                        "empty",
		"\xff":                    "UTF-8",
		strings.Repeat("x", 4097): "4097 bytes; at most 4096",
	} {
		s := OrderStoreOf(db, name)
		for verb, err := range map[string]error{
			"Create": s.Create(ctx, s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})), "Get": second(s.Get(ctx, 1)), "Delete": s.Delete(ctx, 1),
			"Slice": second(s.ByStatus(Paid).Slice(ctx)), "Page": second(s.ByStatus(Paid).Page(ctx, "")), "Scan": second(persistable.ScanRange(&s.Store).From(1).Slice(ctx)),
			"Find": second(s.Find(OrderFields.Status.Equal(Paid))), "Build": s.Indexes().Build(ctx, persistable.BuildOptions{}), "Count": second(s.Scan().Count(ctx)),
		} {
			e := wantAs[*persistable.DirectoryError](t, err)
			if e.Type != "Order" || e.Field != "TenantID" || !strings.Contains(e.Error(), want) {
				t.Errorf("%s in %.10q: %v", verb, name, e)
			}
		}
	}
	for tenant, want := range map[string]string{"": `the field is empty: make the record with the store's New`, "b": `the record belongs to "b"`} {
		e := wantAs[*persistable.DirectoryError](t, OrderStoreOf(db, "a").Save(ctx, &Order{ID: 1, TenantID: tenant}))
		if e.Field != "TenantID" || !strings.Contains(e.Error(), want) {
			t.Errorf("a record of tenant %q: %v", tenant, e)
		}
	}
	for want, args := range map[string][]string{
		"persistable: Order.TenantID: an argument for this {Field} is missing":             nil,
		`persistable: Order: directory "tenants"/"a"/"orders": 2 arguments for 1 {Field}s`: {"a", "b"},
	} {
		s := persistimpl.NewStore[*Order, idgen.ID](db, &orderSchema, args...)
		if e := wantAs[*persistable.DirectoryError](t, second(s.Get(ctx, 1))); e.Error() != want {
			t.Errorf("%v, want %s", e, want)
		}
	}
}

// A tenant that is moved is not written to at its old place.
func TestTenantMoved(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "old")
	o := s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})
	check(t, s.Create(ctx, o))
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	check(t, s.In(db.In(tx)).Delete(ctx, o.ID))
	_, err := directory.Root().Move(ctx, db.Engine(), []string{"tenants", "old"}, []string{"tenants", "new"})
	check(t, err)
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("Commit = %v, want a conflict", err)
	}
	wantError(t, second(s.Get(ctx, o.ID)), persistable.ErrNotFound)
	must[*Order](t)(OrderStoreOf(db, "new").Get(ctx, o.ID))
	check(t, s.Create(ctx, s.New(Order{Number: "2", Status: Paid, CreatedAt: day0, Amount: 1})))
	if n := must[int](t)(OrderStoreOf(db, "new").Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records at the new place", n)
	}
}

func TestSystemDirectoryStays(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for name, path := range map[string][]string{
		"the root directory": nil, `directory "kazahana"`: {"kazahana"}, `directory "kazahana"/"persistable"`: {"kazahana", "persistable"}, `directory "kazahana"/"other"`: {"kazahana", "other"},
	} {
		e := wantAs[*persistable.DirectoryError](t, db.RemoveDirectory(ctx, path...))
		if !strings.Contains(e.Error(), name+": ") || !strings.Contains(e.Error(), "cannot be removed") {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestPartitionHasOnePrefix(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	before := dump(t, db)
	check(t, s.Create(ctx, s.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})))
	other := OrderStoreOf(db, "u")
	check(t, other.Create(ctx, other.New(Order{Number: "1", Status: Paid, CreatedAt: day0, Amount: 1})))
	one, two := prefixOf(t, db, "tenants", "t", "orders"), prefixOf(t, db, "tenants", "u", "orders")
	partition := must[*directory.Directory](t)(directory.Root().Open(ctx, db.Engine(), []string{"tenants", "t"})).Reserve().Begin
	if !bytes.HasPrefix(one, partition) || len(one) == len(partition) || bytes.HasPrefix(two, partition) {
		t.Errorf("the prefixes %x and %x are of one partition", one, two)
	}
	if len(dump(t, db)) <= len(before) {
		t.Error("nothing was written")
	}
}

// TestMoveDirectory: what the condition allows is moved, with its records.
func TestMoveDirectory(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		someOrders(t, OrderStoreOf(db, "t"), 3)
		from, to := []string{"tenants", "t"}, []string{"tenants", "u"}
		refused := errors.New("refused")
		wantError(t, db.MoveDirectory(ctx, from, to, func(kv.ReadTransaction, *directory.Directory) error { return refused }), refused)
		check(t, db.MoveDirectory(ctx, from, to))
		for tenant, want := range map[string]int{"t": 0, "u": 3} {
			if n := must[int](t)(OrderStoreOf(db, tenant).Scan().Count(ctx)); n != want {
				t.Errorf("%s has %d records, want %d", tenant, n, want)
			}
		}
		wantError(t, db.MoveDirectory(ctx, from, to), directory.ErrNotFound)
		for _, path := range [][2][]string{{{"kazahana"}, {"k"}}, {{"tenants", "u"}, {"kazahana", "u"}}} {
			wantAs[*persistable.DirectoryError](t, db.MoveDirectory(ctx, path[0], path[1]))
		}
	})
}

// TestMoveByAReader: a DB that only reads moves nothing, also on an engine that writes.
func TestMoveByAReader(t *testing.T) {
	engine := enginetest.Open(t)
	someOrders(t, OrderStoreOf(open(t, engine), "t"), 1)
	db := openWith(t, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
	wantError(t, db.MoveDirectory(ctx, []string{"tenants", "t"}, []string{"tenants", "u"}), persistable.ErrReadOnly)
}

// TestRemovalIsLostAndCreatedAgain loses the acknowledgement of a removal, with and without
// a fence. Another process creates the directory again before the retry: its records stay.
func TestRemovalIsLostAndCreatedAgain(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		mem := enginetest.Open(t)
		engine := &faulty{Database: mem}
		db := open(t, engine)
		if fenced {
			db = db.Under(claim(t, engine, "me").Fence())
		}
		someOrders(t, OrderStoreOf(db, "t"), 2)
		others := OrderStoreOf(open(t, mem), "t")
		engine.begin(nil, func(n int, commit func() error) error {
			if n > 1 {
				return commit()
			}
			err := lost(commit)
			someOrders(t, others, 3)
			return err
		})
		check(t, db.RemoveDirectory(ctx, "tenants", "t"))
		if n := must[int](t)(others.Scan().Count(ctx)); n != 3 {
			t.Errorf("fenced %v: %d records of the other process are left", fenced, n)
		}
	}
}

// TestRemoveDirectoryIf removes the directory that was read, and no other one.
func TestRemoveDirectoryIf(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someOrders(t, OrderStoreOf(db, "t"), 1)
	errOther := errors.New("another one")
	shown := must[*directory.Directory](t)(db.Layer().Open(ctx, db.Engine(), []string{"tenants", "t"}))
	same := func(_ kv.ReadTransaction, d *directory.Directory) error {
		if !bytes.Equal(d.Reserve().Begin, shown.Reserve().Begin) {
			return errOther
		}
		return nil
	}
	check(t, db.RemoveDirectoryIf(ctx, []string{"tenants", "t"}, same))
	someOrders(t, OrderStoreOf(db, "t"), 1)
	wantError(t, db.RemoveDirectoryIf(ctx, []string{"tenants", "t"}, same), errOther)
	if n := must[int](t)(OrderStoreOf(db, "t").Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records are left", n)
	}
}

// TestRemovalByAReader: a DB that only reads removes nothing, also on an engine that
// writes.
func TestRemovalByAReader(t *testing.T) {
	engine := enginetest.Open(t)
	someOrders(t, OrderStoreOf(open(t, engine), "t"), 1)
	db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}}))
	defer db.Close()
	wantError(t, db.RemoveDirectory(ctx, "tenants", "t"), persistable.ErrReadOnly)
}
