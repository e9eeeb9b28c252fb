// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// The laws are those of the project's design: what every version keeps.

// Law 1: a Create is exactly-once observable, and its id is fixed before the
// first attempt.
func TestLaw1ExactlyOnceCreate(t *testing.T) {
	type fate = func(func() error) error
	cases := map[string][]fate{
		"acknowledged":                        {honest},
		"acknowledgement lost":                {lost},
		"commit lost":                         {dropped},
		"lost, then a conflict":               {lost, conflict},
		"lost, then a commit lost":            {lost, dropped, conflict},
		"commit lost, then a conflict":        {dropped, conflict},
		"commit lost, then acknowledgement":   {dropped, conflict, lost},
		"conflict, then acknowledgement lost": {conflict, lost, conflict, conflict},
	}
	for name, fates_ := range cases {
		t.Run(name, func(t *testing.T) {
			engine := &faulty{Database: enginetest.Open(t)}
			orders := OrderStoreOf(open(t, engine), "t")
			check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))

			engine.begin(nil, fates(fates_...))
			o := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1})
			id := o.ID
			check(t, orders.Create(ctx, o))
			engine.begin(nil, nil)
			if o.ID != id {
				t.Errorf("the id changed from %v to %v", id, o.ID)
			}
			wantError(t, orders.Create(ctx, o), persistable.ErrExists)
			if n := must[int](t)(orders.Scan().Count(ctx)); n != 2 {
				t.Errorf("%d records, want 2", n)
			}
			sound(t, orders.Indexes().Verify)
		})
	}
}

// The mitigation must also hold where another retryable error comes between
// the lost acknowledgement and the question.
func TestLaw1UnknownOutcomeThenOtherErrors(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	orders := OrderStoreOf(open(t, engine), "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 1})))
	committed := 0
	engine.begin(func(int) error {
		if committed == 1 { // the first read after the lost acknowledgement
			committed++
			return kv.NewError(kv.CodeTransactionTooOld, "made up")
		}
		return nil
	}, func(n int, commit func() error) error {
		if n == 1 {
			committed = 1
			return lost(commit)
		}
		return commit()
	})
	check(t, orders.Create(ctx, orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1})))
	if committed != 2 {
		t.Fatal("the read did not fail")
	}
	engine.begin(nil, nil)
	if n := must[int](t)(orders.Scan().Count(ctx)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

// A whole transaction that creates records runs once.
func TestLaw1ExactlyOnceTransact(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	counter := orders.New(Order{Number: "counter", Status: Pending, CreatedAt: day0, Amount: 0})
	check(t, orders.Create(ctx, counter))
	check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "zero", Published: day0})))

	engine.begin(nil, fates(lost, conflict))
	o, a := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1}), NewArticle(Article{Section: "s", Slug: "one", Published: day0})
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		runs++
		c, err := orders.In(tx).Get(ctx, counter.ID)
		if err != nil {
			return err
		}
		c.Amount++
		if err := orders.In(tx).Save(ctx, c); err != nil {
			return err
		}
		if err := orders.In(tx).Create(ctx, o); err != nil {
			return err
		}
		return articles.In(tx).Create(ctx, a)
	}))
	engine.begin(nil, nil)
	if runs != 1 {
		t.Errorf("the function ran %d times", runs)
	}
	if got := must[*Order](t)(orders.Get(ctx, counter.ID)).Amount; got != 1 {
		t.Errorf("the counter was incremented %d times", got)
	}
}

// A record that is created and deleted in one transaction does not tell that
// the transaction committed.
func TestLaw1CreatedAndDeleted(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders := OrderStoreOf(db, "t")
	check(t, orders.Create(ctx, orders.New(Order{Number: "0", Status: Pending, CreatedAt: day0, Amount: 0})))
	engine.begin(nil, fates(lost))
	gone, kept := orders.New(Order{Number: "gone", Status: Pending, CreatedAt: day0, Amount: 0}), orders.New(Order{Number: "kept", Status: Pending, CreatedAt: day0, Amount: 0})
	runs := 0
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		runs++
		s := orders.In(tx)
		if err := s.Create(ctx, gone); err != nil {
			return err
		}
		if err := s.Delete(ctx, gone.ID); err != nil {
			return err
		}
		return s.Create(ctx, kept)
	}))
	if runs != 1 {
		t.Errorf("the function ran %d times", runs)
	}
}

// Law 2: indexes are maintained from the stored record, never from the
// caller's copy.
func TestLaw2IndexesFromTheStoredRecord(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders := OrderStoreOf(db, "t")
		stale := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1})
		check(t, orders.Create(ctx, stale))
		fresh := *stale
		fresh.Number, fresh.Status, fresh.CreatedAt = "A-2", Paid, day1
		check(t, orders.Save(ctx, &fresh))

		// A save of the stale copy takes the entries of the stored form away.
		check(t, orders.Save(ctx, stale))
		_, err := orders.ByNumber(ctx, "A-2")
		wantError(t, err, persistable.ErrNotFound)
		sound(t, orders.Indexes().Verify)

		// So does a delete: no copy is asked for at all.
		check(t, orders.Save(ctx, &fresh))
		check(t, orders.Delete(ctx, stale.ID))
		if r := sound(t, orders.Indexes().Verify); r.Entries != 0 {
			t.Errorf("%d orphaned entries", r.Entries)
		}
		check(t, orders.Create(ctx, orders.New(Order{Number: "A-2", Status: Paid, CreatedAt: day1, Amount: 1})))
	})
}

// Law 3: an operation is one transaction; a scan and the fetch of its records
// see one version.
func TestLaw3ScanAndFetchInOneTransaction(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders := OrderStoreOf(db, "t")
	all := someOrders(t, orders, 9)
	outside := OrderStoreOf(open(t, engine.Database), "t") // its reads do not count for the hook
	operations := map[string]func() ([]*Order, error){
		"Slice": func() ([]*Order, error) { return orders.ByStatus(Pending).Slice(ctx) },
		"All": func() (got []*Order, err error) {
			for o, err := range orders.ByStatus(Pending).All(ctx) {
				if err != nil {
					return nil, err
				}
				got = append(got, o)
			}
			return got, nil
		},
		"Page": func() ([]*Order, error) {
			page, err := orders.ByStatus(Pending).Page(ctx, "")
			return page.Records, err
		},
		"Unique": func() ([]*Order, error) {
			o, err := orders.ByNumber(ctx, all[0].Number)
			return []*Order{o, all[3], all[6]}, err
		},
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			want := must[[]*Order](t)(outside.ByStatus(Pending).Slice(ctx))
			engine.begin(func(n int) error {
				if n == 2 { // after the read of the index, before that of the first record
					moved := *all[0]
					moved.Status = Shipped
					if err := outside.Save(ctx, &moved); err != nil {
						t.Error(err)
					}
				}
				return nil
			}, nil)
			got, err := operation()
			engine.begin(nil, nil)
			check(t, err)
			if diff := compare(want, got); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			check(t, outside.Save(ctx, all[0]))
		})
	}
}

// Law 5: the retry loop sees the engine's error through all wrapping: whatever
// read of an operation fails with a retryable error, the operation succeeds.
func TestLaw5EveryReadMayFail(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	all := someOrders(t, orders, 6)
	big := NewArticle(Article{Section: "s", Slug: "big", ISBN: ptr("1"), Tags: []string{"a", "b"}, Published: day0, Body: make([]byte, 250_000)})
	check(t, articles.Create(ctx, big))
	n := 0
	operations := map[string]func() error{
		"Get":     func() error { return second(orders.Get(ctx, all[0].ID)) },
		"GetMany": func() error { return second(orders.GetMany(ctx, []idgen.ID{all[0].ID, all[1].ID})) },
		"Exists":  func() error { return second(orders.Exists(ctx, all[0].ID)) },
		"Unique":  func() error { return second(orders.ByNumber(ctx, "01")) },
		"Create": func() error {
			n++
			return orders.Create(ctx, orders.New(Order{Number: fmt.Sprint("new", n), Status: Paid, CreatedAt: day0, Amount: 1}))
		},
		"Save":     func() error { return orders.Save(ctx, all[0]) },
		"Delete":   func() error { return orders.Delete(ctx, all[5].ID) },
		"Scan":     func() error { return second(orders.Scan().Slice(ctx)) },
		"Index":    func() error { return second(orders.ByStatus(Paid).Slice(ctx)) },
		"Count":    func() error { return second(orders.OrderedByNumber().Count(ctx)) },
		"Page":     func() error { return second(orders.OrderedByNumber().Limit(2).Page(ctx, "")) },
		"FindOne":  func() error { return second(orders.FindOne(ctx, OrderFields.Number.Equal("01"))) },
		"chunked":  func() error { return second(articles.Get(ctx, big.ID)) },
		"Save big": func() error { return articles.Save(ctx, big) },
		"Verify":   func() error { return second(orders.Indexes().Verify(ctx, persistable.VerifyOptions{})) },
		"Rebuild":  func() error { return orders.Indexes().Rebuild(ctx, "Order_Number_unique", persistable.BuildOptions{}) },
		"new tenant": func() error {
			n++
			s := OrderStoreOf(db, fmt.Sprint("tenant", n))
			return s.Create(ctx, s.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1}))
		},
		"List":   func() error { return second(db.ListDirectory(ctx, "tenants")) },
		"Remove": func() error { return ignore(db.RemoveDirectory(ctx, "tenants", "tenant1"), persistable.ErrNotFound) },
		"Open": func() error {
			other, err := persistable.Open(ctx, engine)
			if err != nil {
				return err
			}
			defer closeDB(t, other)
			return second(other.IDs().Next(ctx))
		},
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			for fail := 1; ; fail++ {
				failed := false
				engine.begin(func(n int) error {
					if n != fail {
						return nil
					}
					failed = true
					return kv.NewError(kv.CodeTransactionTooOld, "read %d was made to fail", n)
				}, nil)
				if err := operation(); err != nil {
					t.Fatalf("with read %d failing once: %v", fail, err)
				}
				if !failed {
					return
				}
			}
		})
	}
	engine.begin(nil, nil)
	sound(t, orders.Indexes().Verify)
	sound(t, articles.Indexes().Verify)
}

func second[T any](_ T, err error) error { return err }

func ignore(err, target error) error {
	if err != nil && strings.Contains(err.Error(), target.Error()) {
		return nil
	}
	return err
}

// Law 6: no reflection at run time. Package fmt is used where errors are made.
func TestLaw6NoReflection(t *testing.T) {
	banned := []string{"reflect", "encoding/json", "encoding/gob", "encoding/binary.Write", "text/template"}
	for _, pattern := range []string{"*.go", "persistimpl/keys.go", "persistimpl/wire.go", "../internal/wire/*.go", "../internal/index/*.go", "../tuple/*.go"} {
		files := must[[]string](t)(filepath.Glob(pattern))
		if len(files) == 0 {
			t.Errorf("no files for %s", pattern)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source := must[[]byte](t)(os.ReadFile(file))
			parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
			check(t, err)
			for _, i := range parsed.Imports {
				for _, name := range banned {
					if i.Path.Value == `"`+name+`"` {
						t.Errorf("%s imports %s", file, name)
					}
				}
			}
		}
	}
}

// Law 7: FoundationDB's limits hold, with its error codes.
func TestLaw7Limits(t *testing.T) {
	db := open(t, enginetest.Open(t))
	articles := ArticleStoreOf(db)
	var large []*Article
	for i := range 12 {
		large = append(large, NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), Published: day0, Body: make([]byte, 900_000)}))
	}
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		for _, a := range large {
			if err := articles.In(tx).Create(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
	if kv.CodeOf(err) != kv.CodeTransactionTooLarge {
		t.Errorf("a transaction of 11 MB: %v, want code %d", err, kv.CodeTransactionTooLarge)
	}
	// A record over one value's limit is stored in chunks that keep it.
	a := NewArticle(Article{Section: "s", Slug: "big", Published: day0, Body: make([]byte, 1_000_000)})
	check(t, articles.Create(ctx, a))
	for key, value := range dump(t, db) {
		if len(value) > kv.MaxValueSize || len(key) > kv.MaxKeySize {
			t.Errorf("a key of %d bytes has a value of %d", len(key), len(value))
		}
	}
}

// Law 8: a store cannot leave its directory.
func TestLaw8StoreStaysInItsDirectory(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		one, two := OrderStoreOf(db, "tenant-1"), OrderStoreOf(db, "tenant-2")
		o := one.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1})
		check(t, one.Create(ctx, o))
		for name, write := range map[string]error{"Create": two.Create(ctx, o), "Save": two.Save(ctx, o), "CreateWithID": two.CreateWithID(ctx, 99, &Order{TenantID: "tenant-1"})} {
			e := wantAs[*persistable.DirectoryError](t, write)
			if e.Field != "TenantID" || !strings.Contains(e.Reason, `"tenant-1"`) {
				t.Errorf("%s: %v", name, e)
			}
		}
		_, err := two.Get(ctx, o.ID)
		wantError(t, err, persistable.ErrNotFound)
		_, err = two.ByNumber(ctx, "A-1")
		wantError(t, err, persistable.ErrNotFound)
		check(t, two.Delete(ctx, o.ID))
		must[*Order](t)(one.Get(ctx, o.ID))

		// The same values are free in the other tenant.
		other := two.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 2})
		check(t, two.CreateWithID(ctx, o.ID, other))
		if got := must[*Order](t)(one.ByNumber(ctx, "A-1")); got.Amount != 1 {
			t.Errorf("tenant-1 sees the record of tenant-2: %+v", got)
		}
		if diff := cmp.Diff([]string{"tenant-1", "tenant-2"}, must[[]string](t)(db.ListDirectory(ctx, "tenants"))); diff != "" {
			t.Errorf("tenants (-want +got):\n%s", diff)
		}
	})
}
