// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

func TestCreateGetSaveDelete(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders := OrderStoreOf(db, "tenant-1")
		o := orders.New(Order{Number: "A-1001", Status: Pending, CreatedAt: day0, Amount: 1000})
		check(t, orders.Create(ctx, o))
		if diff := compare(o, must[*Order](t)(orders.Get(ctx, o.ID))); diff != "" {
			t.Errorf("Get mismatch (-want +got):\n%s", diff)
		}
		wantError(t, orders.Create(ctx, o), persistable.ErrExists)

		o.Status, o.Number = Paid, "A-1002"
		check(t, orders.Save(ctx, o))
		if diff := compare(o, must[*Order](t)(orders.ByNumber(ctx, "A-1002"))); diff != "" {
			t.Errorf("ByNumber mismatch (-want +got):\n%s", diff)
		}
		_, err := orders.ByNumber(ctx, "A-1001")
		wantError(t, err, persistable.ErrNotFound)
		if n := must[int](t)(orders.ByStatus(Pending).Count(ctx)); n != 0 {
			t.Errorf("%d pending orders after the only one was paid", n)
		}
		if !must[bool](t)(orders.Exists(ctx, o.ID)) {
			t.Error("the order does not exist")
		}

		check(t, orders.Delete(ctx, o.ID))
		check(t, orders.Delete(ctx, o.ID)) // absent: no error
		_, err = orders.Get(ctx, o.ID)
		wantError(t, err, persistable.ErrNotFound)
		if must[bool](t)(orders.Exists(ctx, o.ID)) {
			t.Error("the deleted order exists")
		}
		if r := sound(t, orders.Indexes().Verify); r.Records != 0 || r.Entries != 0 {
			t.Errorf("after deleting the only record there are %d records and %d entries", r.Records, r.Entries)
		}
	})
}

func TestSaveCreates(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		articles := ArticleStoreOf(db)
		a := NewArticle(Article{Section: "go", Slug: "iterators", ISBN: ptr("978-1"), Tags: []string{"go", "iter"}, Published: day0, Body: []byte("text")})
		check(t, articles.Save(ctx, a))
		if diff := compare(a, must[*Article](t)(articles.Get(ctx, a.ID))); diff != "" {
			t.Errorf("Get mismatch (-want +got):\n%s", diff)
		}
		sound(t, articles.Indexes().Verify)
	})
}

func TestNothingIsCreatedByReading(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	orders := OrderStoreOf(db, "nobody")
	_, err := orders.Get(ctx, 7)
	wantError(t, err, persistable.ErrNotFound)
	_, err = orders.ByNumber(ctx, "x")
	wantError(t, err, persistable.ErrNotFound)
	_, err = orders.ByStatus(Paid).First(ctx)
	wantError(t, err, persistable.ErrNotFound)
	check(t, orders.Delete(ctx, 7))
	check(t, orders.Indexes().Build(ctx, persistable.BuildOptions{}))
	if n := must[int](t)(orders.Scan().Count(ctx)); n != 0 {
		t.Errorf("Count = %d", n)
	}
	if got := must[[]*Order](t)(orders.GetMany(ctx, []idgen.ID{1, 2})); len(got) != 2 || got[0] != nil || got[1] != nil {
		t.Errorf("GetMany = %v, want two nils", got)
	}
	if names := must[[]string](t)(db.ListDirectory(ctx, "tenants")); len(names) != 0 {
		t.Errorf("reading created the directories %q", names)
	}
}

func TestGetMany(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders := OrderStoreOf(db, "t")
		all := someOrders(t, orders, 5)
		got := must[[]*Order](t)(orders.GetMany(ctx, []idgen.ID{all[3].ID, 12345, all[0].ID, all[3].ID}))
		want := []*Order{all[3], nil, all[0], all[3]}
		if diff := compare(want, got); diff != "" {
			t.Errorf("GetMany mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestIDs(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders := OrderStoreOf(db, "t")
	o := &Order{TenantID: "t", Number: "1"}
	check(t, orders.Create(ctx, o))
	if o.ID == 0 {
		t.Error("Create did not set the id")
	}
	imported := &Order{TenantID: "t", Number: "2"}
	check(t, orders.CreateWithID(ctx, 4711, imported))
	if imported.ID != 4711 {
		t.Errorf("CreateWithID set the id %v", imported.ID)
	}
	must[*Order](t)(orders.Get(ctx, 4711))
	wantError(t, orders.CreateWithID(ctx, 4711, &Order{TenantID: "t", Number: "3"}), persistable.ErrExists)

	wantError(t, ArtStoreOf(db).Create(ctx, &Art{Name: "no id, and none is made"}), persistable.ErrNoID)
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		return orders.In(tx).Create(ctx, &Order{TenantID: "t", Number: "4"})
	})
	wantError(t, err, persistable.ErrNoID)
}

func TestStrictGeneratorInOutage(t *testing.T) {
	outage := errors.New("no lease")
	idgen.SetDefault(faultyGenerator{outage})
	t.Cleanup(func() { idgen.SetDefault(nil) })
	orders := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	o := orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1})
	if o.ID != 0 {
		t.Fatalf("the constructor made the id %v without a generator", o.ID)
	}
	err := orders.Create(ctx, o)
	wantError(t, err, outage)
	wantError(t, err, persistable.ErrNoID)
}

func TestUniqueError(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		orders := OrderStoreOf(db, "t")
		first := orders.New(Order{Number: "A-1", Status: Pending, CreatedAt: day0, Amount: 1})
		check(t, orders.Create(ctx, first))
		e := wantAs[*persistable.UniqueError](t, orders.Create(ctx, orders.New(Order{Number: "A-1", Status: Paid, CreatedAt: day1, Amount: 2})))
		want := &persistable.UniqueError{
			Type: "Order", Index: "Order_Number", Fields: []string{"Number"},
			Values: tuple.Tuple{"A-1"}, Owner: first.ID,
		}
		if diff := compare(want, e); diff != "" {
			t.Errorf("UniqueError mismatch (-want +got):\n%s", diff)
		}
		second := orders.New(Order{Number: "A-2", Status: Pending, CreatedAt: day0, Amount: 1})
		check(t, orders.Create(ctx, second))
		second.Number = "A-1"
		wantAs[*persistable.UniqueError](t, orders.Save(ctx, second))
		if n := must[int](t)(orders.Scan().Count(ctx)); n != 2 {
			t.Errorf("%d records after refused writes, want 2", n)
		}
		sound(t, orders.Indexes().Verify)
	})
}

func TestNullsAreNeverTaken(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		articles := ArticleStoreOf(db)
		a := NewArticle(Article{Section: "s", Slug: "a", Published: day0})
		check(t, articles.Create(ctx, a))
		check(t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "b", Published: day0})))
		_, err := articles.ByISBN(ctx, nil)
		wantError(t, err, persistable.ErrNotFound)

		a.ISBN = ptr("")
		check(t, articles.Save(ctx, a)) // empty is a value
		if got := must[*Article](t)(articles.ByISBN(ctx, ptr(""))); got.ID != a.ID {
			t.Errorf("the empty ISBN belongs to %v", got.ID)
		}
		e := wantAs[*persistable.UniqueError](t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: "c", ISBN: ptr(""), Published: day0})))
		if e.Owner != a.ID {
			t.Errorf("Owner = %v, want %v", e.Owner, a.ID)
		}
		sound(t, articles.Indexes().Verify)
	})
}

func TestValuesThatCannotBeStored(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, articles := OrderStoreOf(db, "t"), ArticleStoreOf(db)
	long := strings.Repeat("x", 10_000)

	e := wantAs[*persistable.FieldError](t, orders.Create(ctx, orders.New(Order{Number: long, Status: Pending, CreatedAt: day0, Amount: 1})))
	if e.Type != "Order" || e.Field != "Number" {
		t.Errorf("the error names %s.%s", e.Type, e.Field)
	}
	for _, word := range []string{"10002 of them from Number", "at most 10000", "hash"} {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, e)
		}
	}
	e = wantAs[*persistable.FieldError](t, articles.Create(ctx, NewArticle(Article{Section: "s", Slug: long, Published: day0})))
	if e.Field != "Slug" {
		t.Errorf("the error names the field %s, want the longest one, Slug", e.Field)
	}
	a := NewArticle(Article{Section: "s", Slug: "x", Published: day0})
	a.ID = long
	e = wantAs[*persistable.FieldError](t, articles.Create(ctx, a))
	if e.Field != "ID" {
		t.Errorf("the error names %s, want ID", e.Field)
	}
	e = wantAs[*persistable.FieldError](t, orders.Create(ctx, orders.New(Order{Number: "\xff", Status: Pending, CreatedAt: day0, Amount: 1})))
	if e.Field != "Number" {
		t.Errorf("the error names the field %s, want Number", e.Field)
	}
	huge := NewArticle(Article{Section: "s", Slug: "x", Published: day0, Body: make([]byte, 11_000_000)})
	r := wantAs[*persistable.RecordError](t, articles.Create(ctx, huge))
	if !strings.Contains(r.Error(), "split it") {
		t.Errorf("the error has no remedy: %v", r)
	}
}

func TestLongestKeyFits(t *testing.T) {
	// The key is the directory's prefix, ("I", name), the value and the id.
	db := open(t, enginetest.Open(t))
	articles := ArticleStoreOf(db)
	a := NewArticle(Article{Section: "s", Slug: "x", Tags: []string{strings.Repeat("x", 9_900)}, Published: day0})
	check(t, articles.Create(ctx, a))
	if n := must[int](t)(articles.ByTags(a.Tags[0]).Count(ctx)); n != 1 {
		t.Errorf("found %d by the long tag", n)
	}
}

func TestSchemaFaults(t *testing.T) {
	schema := persistimpl.Schema{Directory: []persistimpl.PathElement{{Field: "TenantID"}}}
	err := schema.Validate()
	for _, word := range []string{"Type is empty", "IDs or ID", "Encode", "CheckArgs and FillArgs"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("Validate does not say %q: %v", word, err)
		}
	}
	store := persistimpl.NewStore[*Order, idgen.ID](open(t, enginetest.Open(t)), &schema, "t")
	if err := store.Create(ctx, &Order{ID: 1}); err == nil {
		t.Error("a store with a faulty schema creates")
	}
}

func TestStoreOfAnotherDatabase(t *testing.T) {
	one, other := open(t, enginetest.Open(t)), open(t, enginetest.Open(t))
	err := one.Transact(ctx, func(tx persistable.Tx) error {
		return OrderStoreOf(other, "t").In(tx).Delete(ctx, 1)
	})
	if err == nil || !strings.Contains(err.Error(), "different databases") {
		t.Errorf("got %v", err)
	}
}

func TestClosedEngine(t *testing.T) {
	engine := enginetest.Open(t)
	orders := OrderStoreOf(open(t, engine), "t")
	check(t, engine.Close())
	wantError(t, orders.Create(ctx, orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1})), persistable.ErrClosed)
	_, err := orders.Get(ctx, 1)
	wantError(t, err, kv.ErrClosed)
}

func TestOptions(t *testing.T) {
	_, err := persistable.Open(ctx, enginetest.Open(t), persistable.Options{PageSize: -1, BuildBatch: -2})
	for _, word := range []string{"PageSize is -1", "BuildBatch is -2"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

func TestTimesKeepTheirValue(t *testing.T) {
	orders := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	for i, at := range []time.Time{
		{},
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Unix(0, 0).UTC(), time.Unix(-1, 999_999_999).UTC(),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		o := orders.New(Order{Number: string(rune('a' + i)), Status: Pending, CreatedAt: at, Amount: 1})
		check(t, orders.Create(ctx, o))
		if got := must[*Order](t)(orders.Get(ctx, o.ID)).CreatedAt; !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%v came back as %v", at, got)
		}
	}
}

// TestSchemaIsACopy: what a tool does with the description changes no store, and the zero
// store has none.
func TestSchemaIsACopy(t *testing.T) {
	s := OrderStoreOf(nil, "t")
	want := persistable.SchemaOf(&s.Store)
	for _, ix := range persistable.SchemaOf(&s.Store).Indexes {
		ix.Fields[0] = "changed"
	}
	persistable.SchemaOf(&s.Store).Fields[0].Name = "changed"
	if diff := cmp.Diff(want, persistable.SchemaOf(&s.Store)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(want, persistable.SchemaOf(&OrderStoreOf(open(t, enginetest.Open(t)), "t").Store)); diff != "" {
		t.Errorf("(-without a database +with one):\n%s", diff)
	}
	if diff := cmp.Diff(persistable.Schema{}, persistable.SchemaOf(&new(OrderStore).Store)); diff != "" {
		t.Errorf("the zero store (-want +got):\n%s", diff)
	}
}

func TestErrorTexts(t *testing.T) {
	db := open(t, enginetest.Open(t))
	orders, articles := OrderStoreOf(db, "t/1"), ArticleStoreOf(db)
	o := orders.New(Order{Number: "A-1001", Status: Paid, CreatedAt: day0, Amount: 1})
	check(t, orders.CreateWithID(ctx, 7, o))
	a := NewArticle(Article{Section: "s", Slug: "one", Published: day0})
	a.ID = "a"
	check(t, articles.Create(ctx, a))
	b := NewArticle(Article{Section: "s", Slug: "one", Published: day0})
	id := o.ID.String()
	directory := ` in the directory "tenants"/"t/1"/"orders"`
	for _, c := range []struct {
		err  error
		want string
	}{
		{orders.Create(ctx, orders.New(Order{Number: "A-1001", Status: Paid, CreatedAt: day0, Amount: 1})), `persistable: Order: Number = "A-1001" is taken by the Order with the id ` + id},
		{articles.Create(ctx, b), `persistable: Article: (Section, Slug) = ("s", "one") is taken by the Article with the id a`},
		{second(orders.Get(ctx, 1)), `persistable: not found: Order (1)` + directory},
		{second(OrderStoreOf(db, "none").Get(ctx, 1)), `persistable: not found: Order (1) in the directory "tenants"/"none"/"orders"`},
		{second(articles.Get(ctx, "none")), `persistable: not found: Article ("none")`},
		{second(orders.ByNumber(ctx, "B")), `persistable: not found: Order with Number = "B"` + directory},
		{second(orders.ByStatus(Pending).First(ctx)), `persistable: not found: no Order fits the query` + directory},
		{second(orders.Find()), `persistable: Order: no condition is given: give one, or read all records by Scan or AllowScan (it has 3 indexes: `},
		{second(orders.FindOne(ctx)), `persistable: Order: no condition is given: `},
		{orders.Indexes().Rebuild(ctx, "none", persistable.BuildOptions{}), `persistable: Order: no index has the name "none"; the names are Order_Number_unique, Order_Status, Order_Status_CreatedAt (it has 3 indexes: `},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s…", c.err, c.want)
		}
	}
}

func TestNilRecords(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	for name, err := range map[string]error{
		"Create": s.Create(ctx, nil), "CreateWithID": s.CreateWithID(ctx, 1, nil), "Save": s.Save(ctx, nil),
		"bound": db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Save(ctx, nil) }),
	} {
		if err == nil || err.Error() != "persistable: Order: a nil *Order cannot be written" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A store without a database says so, whatever is done with it.
func TestStoresWithoutADatabase(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for name, s := range map[string]*OrderStore{
		"zero store": {}, "nil DB": OrderStoreOf(nil, "t"), "zero DB": OrderStoreOf(new(persistable.DB), "t"),
	} {
		o := &Order{ID: 1, TenantID: "t"}
		for verb, err := range map[string]error{
			"Create": s.Create(ctx, o), "CreateWithID": s.CreateWithID(ctx, 1, o), "Save": s.Save(ctx, o), "Delete": s.Delete(ctx, 1),
			"Get": second(s.Get(ctx, 1)), "Exists": second(s.Exists(ctx, 1)), "GetMany": second(s.GetMany(ctx, []idgen.ID{1})), "Unique": second(s.ByNumber(ctx, "1")),
			"Slice": second(s.ByStatus(Paid).Slice(ctx)), "Page": second(s.ByStatus(Paid).Page(ctx, "")), "Scan": second(persistable.ScanRange(&s.Store).From(idgen.ID(1)).Slice(ctx)),
			"Find": second(s.Find(OrderFields.Status.Equal(Paid))), "Count": second(s.Scan().Count(ctx)), "Build": s.Indexes().Build(ctx, persistable.BuildOptions{}), "Verify": second(s.Indexes().Verify(ctx, persistable.VerifyOptions{})),
			"bound": db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Delete(ctx, 1) }),
		} {
			if err == nil || !strings.Contains(err.Error(), "database: ") {
				t.Errorf("%s, %s: %v", name, verb, err)
			}
		}
		if s.Path() != nil || s.New(Order{}).TenantID != "" {
			t.Errorf("%s has the path %v", name, s.Path())
		}
	}
	s := OrderStoreOf(db, "t")
	if err := s.In(persistable.Tx{}).Delete(ctx, 1); err == nil || !strings.Contains(err.Error(), "zero Tx") {
		t.Errorf("zero Tx: %v", err)
	}
	if _, err := persistable.Open(ctx, nil); err == nil || !strings.Contains(err.Error(), "the engine is nil") {
		t.Errorf("Open: %v", err)
	}
}

func TestZeroDBPanicsClearly(t *testing.T) {
	for name, use := range map[string]func(db *persistable.DB){
		"Transact":        func(db *persistable.DB) { _ = db.Transact(ctx, nil) },
		"ReadTransact":    func(db *persistable.DB) { _ = db.ReadTransact(ctx, nil) },
		"In":              func(db *persistable.DB) { db.In(nil) },
		"RemoveDirectory": func(db *persistable.DB) { _ = db.RemoveDirectory(ctx, "a") },
		"ListDirectory":   func(db *persistable.DB) { _, _ = db.ListDirectory(ctx, "a") },
	} {
		for _, db := range []*persistable.DB{nil, {}} {
			func() {
				defer func() {
					err, ok := recover().(error)
					if !ok || !strings.Contains(err.Error(), "use the DB that Open returned") || errors.Unwrap(err) == nil {
						t.Errorf("%s: %v", name, err)
					}
				}()
				use(db)
			}()
		}
	}
}
