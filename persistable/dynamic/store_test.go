// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/bazaar/older"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestStores: all stores of the database, and those below a path.
func TestStores(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct{ path, want []string }{
		{nil, []string{
			`"counters" of Counter`, `"events" of Event`, `"settings" of Setting`,
			`"tenants/tenant-1/accounts" of Account`, `"tenants/tenant-1/orders" of Order`,
			`"tenants/tenant-2/accounts" of Account`, `"tenants/tenant-2/orders" of Order`,
			`"tenants/tenant-3/accounts" of Account`, `"tenants/tenant-3/orders" of Order`,
		}},
		{[]string{"tenants", "tenant-2"}, []string{`"tenants/tenant-2/accounts" of Account`, `"tenants/tenant-2/orders" of Order`}},
		{[]string{"events"}, []string{`"events" of Event`}},
	} {
		var got []string
		for at, err := range dynamic.Stores(ctx, db, c.path...) {
			check(t, err)
			got = append(got, at.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("below %v (-want +got):\n%s", c.path, diff)
		}
	}
	for _, err := range dynamic.Stores(ctx, db, "nowhere") {
		if !errors.Is(err, persistable.ErrNotFound) {
			t.Error(err)
		}
	}
	for range dynamic.Stores(ctx, db) {
		break // the walk ends with the loop
	}
}

// TestGet: a record by its id, as JSON.
func TestGet(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	id := must[dynamic.ID](t)(s.ParseID("72623859790382859"))
	r := must[*dynamic.Record](t)(s.Get(ctx, id))
	if r.ID() != id || r.ID().String() != "72623859790382859" || r.Version().IsZero() {
		t.Errorf("id %v, version %v", r.ID(), r.Version())
	}
	const want = `{"ID":"72623859790382859","TenantID":"tenant-1","Number":"A-1004","Status":"Placed","Country":"DE","CreatedAt":"2026-03-01T12:00:00.000000005Z",` +
		`"Amount":600,"Units":3,"Editor":"grace","Tags":["new","batch-0"],"Address":{"Street":"Domkloster 4","City":"","Zip":"50667"},` +
		`"Billing":{"Street":"Rue \"Lepic\" 12","City":"Paris","Zip":null},` +
		`"Lines":[{"Product":"tea","Quantity":2,"Price":450},{"Product":"cup","Quantity":3,"Price":1250}],"Notes":{"door":"left\nof the gate","gift":"yes"},` +
		`"PaidAt":"2026-03-01T12:01:00.000000005Z","Took":"1m30s","Rate":0.375,"Hash":"yv4AAw==","Photo":"AAEC/w==","Key":"019ca8a0-3ee7-0000-0000-000000000067","Done":true}`
	if got := must[[]byte](t)(json.Marshal(r)); string(got) != want {
		t.Errorf("the record is\n%s\nwant\n%s", got, want)
	}
	if _, err := s.Get(ctx, must[dynamic.ID](t)(s.ParseID("1"))); !errors.Is(err, persistable.ErrNotFound) {
		t.Error(err)
	}
}

// TestScan: all records of a store, in the order of their ids, page by page too.
func TestScan(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	all := must[[]*dynamic.Record](t)(s.Scan().Slice(ctx))
	var paged []*dynamic.Record
	for token, more := "", true; more; more = token != "" {
		p := must[persistable.Page[*dynamic.Record]](t)(s.Scan().Limit(7).Page(ctx, token))
		paged, token = append(paged, p.Records...), p.Next
	}
	same := func(a, b *dynamic.Record) bool { return a.ID() == b.ID() }
	if len(all) != 24 || !slices.EqualFunc(all, paged, same) {
		t.Errorf("%d records, and %d in pages", len(all), len(paged))
	}
}

// TestOpenRefuses: what is not there, or not named, is an error that says what is.
func TestOpenRefuses(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct {
		path []string
		typ  string
	}{{[]string{"nowhere"}, ""}, {[]string{"events"}, "Order"}, {[]string{"tenants"}, ""}, {[]string{"tenants", "tenant-1"}, ""}} {
		if _, err := dynamic.Open(ctx, db, c.path, c.typ); !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("%v: %v", c.path, err)
		}
	}
}

var ctx = context.Background()

// seeded returns the database of package bazaar.
func seeded(t testing.TB) *persistable.DB {
	t.Helper()
	engine := enginetest.Open(t)
	check(t, bazaar.Seed(ctx, engine))
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func open(t testing.TB, db *persistable.DB, path ...string) *dynamic.Store {
	t.Helper()
	s, err := dynamic.Open(ctx, db, path, "")
	check(t, err)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// sound fails the test if an index does not fit the records.
func sound(t *testing.T, x persistable.Indexes) {
	t.Helper()
	r := must[persistable.Report](t)(x.Verify(ctx, persistable.VerifyOptions{}))
	if len(r.Faults) > 0 || len(r.Skipped) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestWrites: creations, saves, updates and deletions maintain all indexes, and unique
// ones refuse.
func TestWrites(t *testing.T) {
	db := seeded(t)
	s, generated := open(t, db, "tenants", "tenant-1", "orders"), bazaar.OrderStoreOf(db, "tenant-1")
	r := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"B-1","Status":2,"Tags":["x"],"Amount":5}`)))
	check(t, s.Create(ctx, r))
	o := must[*bazaar.Order](t)(generated.ByNumber(ctx, "B-1"))
	if o.ID.String() != r.ID().String() || o.TenantID != "tenant-1" || o.Status != bazaar.Shipped {
		t.Errorf("%+v", o)
	}
	taken := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"A-1001"}`)))
	var unique *persistable.UniqueError
	if err := s.Create(ctx, taken); !errors.As(err, &unique) || unique.Index != "Order_Number" {
		t.Error(err)
	}
	other := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"B-2","TenantID":"tenant-2"}`)))
	if err := s.Create(ctx, other); !errors.As(err, new(*persistable.DirectoryError)) {
		t.Error(err)
	}
	for i := range 5 {
		check(t, s.Delete(ctx, must[dynamic.ID](t)(s.ParseID((idgen.ID(72623859790382856)+idgen.ID(i)).String()))))
	}
	sound(t, s.Indexes())
	sound(t, generated.Indexes())
	if n := must[int64](t)(generated.CountAll(ctx)); n != 20 {
		t.Errorf("%d orders, want 20", n)
	}
}

// TestForeignIndex: a header with an index that this version cannot maintain refuses all
// writes, and names the index.
func TestForeignIndex(t *testing.T) {
	s := open(t, seeded(t), "settings")
	r := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":"x","Value":"y"}`)))
	for name, err := range map[string]error{
		"create": s.Create(ctx, r), "delete": s.Delete(ctx, r.ID()), "delete stored": s.Delete(ctx, must[dynamic.ID](t)(s.ParseID("theme"))),
	} {
		if !errors.Is(err, persistable.ErrForeignIndex) || !strings.Contains(err.Error(), "has the index Setting_expiry (") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ix := s.Schema().Indexes[1]; ix.Name != "Setting_expiry" || !strings.Contains(ix.Foreign, "expires") {
		t.Errorf("%+v", ix)
	}
	if n := must[int](t)(s.Scan().Count(ctx)); n != 2 {
		t.Errorf("%d settings", n)
	}
}

// TestHeaderChanges: a store that was opened before another program changed the header
// maintains what the header has then, and keeps fields that it does not know.
func TestHeaderChanges(t *testing.T) {
	db := seeded(t)
	olders := older.AccountStoreOf(db, "late")
	check(t, olders.Create(ctx, older.NewAccount(older.Account{TenantID: "late", Email: "a", Level: 3})))
	s := open(t, db, "tenants", "late", "accounts")
	accounts := bazaar.AccountStoreOf(db, "late")
	a := bazaar.NewAccount(bazaar.Account{TenantID: "late", Email: "b", Plan: "pro", Level: 4})
	check(t, accounts.Create(ctx, a))
	check(t, accounts.Indexes().Build(ctx, persistable.BuildOptions{}))
	check(t, accounts.Indexes().RemoveUnused(ctx))

	id := must[dynamic.ID](t)(s.ParseID(a.ID))
	r := must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":"` + a.ID + `","Email":"c","Level":5}`)))
	check(t, s.Save(ctx, r))
	if got := must[*bazaar.Account](t)(accounts.Get(ctx, a.ID)); got.Plan != "pro" || got.Email != "c" || got.Level != 5 {
		t.Errorf("%+v", got)
	}
	check(t, s.Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Email":"d"}`)))))
	sound(t, accounts.Indexes())
	check(t, s.Delete(ctx, id))
	sound(t, accounts.Indexes())
	q := must[*persistable.Query[*dynamic.Record]](t)(s.ByIndex("Account_Level"))
	if _, err := q.Slice(ctx); !errors.Is(err, persistable.ErrNotBuilt) || !strings.Contains(err.Error(), "is disabled in this store") {
		t.Errorf("a query of an index that was removed: %v", err)
	}
}

// TestRemovedStore: a store whose directory is gone is not made again.
func TestRemovedStore(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "counters")
	check(t, db.RemoveDirectory(ctx, "counters"))
	err := s.Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"ID":7,"Name":"x"}`))))
	if !errors.Is(err, persistable.ErrNotFound) || !strings.Contains(err.Error(), "removed") {
		t.Error(err)
	}
	if names := must[[]string](t)(db.ListDirectory(ctx)); strings.Contains(strings.Join(names, " "), "counters") {
		t.Errorf("there are %v", names)
	}
}

// TestMovedStore: below another directory a store can be written to, with the {Field}s of
// its path; at a path that does not end as the schema says it can only be read.
func TestMovedStore(t *testing.T) {
	db := seeded(t)
	_, err := db.Layer().CreateOrOpen(ctx, db.Engine(), []string{"old"})
	check(t, err)
	move := func(from, to []string) {
		_, err := db.Layer().Move(ctx, db.Engine(), from, to)
		check(t, err)
	}
	move([]string{"tenants"}, []string{"old", "tenants"})
	s := open(t, db, "old", "tenants", "tenant-2", "orders")
	check(t, s.Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"B-1"}`)))))
	sound(t, s.Indexes())

	move([]string{"counters"}, []string{"old", "numbers"})
	s = open(t, db, "old", "numbers")
	r := must[*dynamic.Record](t)(s.Scan().First(ctx))
	for name, err := range map[string]error{"save": s.Save(ctx, r), "delete": s.Delete(ctx, r.ID()), "build": s.Indexes().Rebuild(ctx, "Counter_Name_unique", persistable.BuildOptions{})} {
		if !errors.As(err, new(*persistable.DirectoryError)) || !strings.Contains(err.Error(), "can only be read") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Schema().Refusal == nil {
		t.Error("the schema does not say so")
	}
}

// TestReopen: a store that is opened again is in the directory that it was in, and in no other one
// that another process has put at the path before or since.
func TestReopen(t *testing.T) {
	db := seeded(t)
	shown := open(t, db, "counters")
	id := must[dynamic.ID](t)(shown.ParseID("1"))
	same := must[*dynamic.Store](t)(shown.Reopen(ctx, db))
	check(t, same.SaveExisting(ctx, must[*dynamic.Record](t)(same.Get(ctx, id))))
	check(t, db.RemoveDirectory(ctx, "counters"))
	check(t, bazaar.CounterStoreOf(db).CreateWithID(ctx, 1, &bazaar.Counter{Name: "another"}))
	for name, err := range map[string]error{
		"Delete": same.Delete(ctx, id), "Drop": same.Drop(ctx, "Counter_Name_unique"),
		"Rebuild": same.Indexes().Rebuild(ctx, "Counter_Name_unique", persistable.BuildOptions{}), "DeleteMany": persistable.DeleteMany(ctx, &same.Store, []dynamic.ID{id}, persistable.BatchOptions{}),
	} {
		if !errors.Is(err, persistable.ErrNotFound) || !strings.Contains(err.Error(), "another directory") {
			t.Errorf("%s in another directory: %v", name, err)
		}
	}
	if _, err := shown.Reopen(ctx, db); !errors.Is(err, persistable.ErrNotFound) {
		t.Errorf("another directory is opened: %v", err)
	}
	now := open(t, db, "counters")
	if there, err := now.Exists(ctx, id); err != nil || !there || len(now.Schema().Indexes) != 1 {
		t.Errorf("the record of the other directory is there: %v, %v; indexes: %v", there, err, now.Schema().Indexes)
	}
}

// TestNoIDs: zero, empty and negative ids are refused as in generated code, whatever made the
// record.
func TestNoIDs(t *testing.T) {
	db := seeded(t)
	counters, orders := open(t, db, "counters"), open(t, db, "tenants", "tenant-1", "orders")
	zero := must[dynamic.ID](t)(counters.ParseID("0"))
	for _, verb := range []func(*dynamic.Record) error{
		func(r *dynamic.Record) error { return counters.CreateWithID(ctx, zero, r) },
		func(r *dynamic.Record) error { return counters.Create(ctx, r) },
		func(r *dynamic.Record) error { return counters.SaveExisting(ctx, r) },
	} {
		if err := verb(must[*dynamic.Record](t)(counters.ParseRecord([]byte(`{"ID":"0"}`)))); !errors.Is(err, persistable.ErrNoID) {
			t.Error(err)
		}
	}
	check(t, counters.CreateWithID(ctx, must[dynamic.ID](t)(counters.ParseID("-1")), must[*dynamic.Record](t)(counters.ParseRecord([]byte(`{"Name":"n"}`)))))

	r := must[*dynamic.Record](t)(orders.ParseRecord([]byte(`{"ID":"-1","Number":"N-1"}`)))
	for _, err := range []error{orders.Create(ctx, r), orders.Save(ctx, r), orders.CreateMany(ctx, []*dynamic.Record{r}, persistable.BatchOptions{})} {
		var fault *persistable.FieldError
		if !errors.As(err, &fault) || fault.Field != "ID" || !strings.Contains(fault.Reason, "it is -1") {
			t.Error(err)
		}
	}
}

// TestEntries: the keys of a record, decoded, and one that is missing.
func TestEntries(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "tenants", "tenant-1", "orders")
	id := must[dynamic.ID](t)(s.ParseID("72623859790382857"))
	all := must[[]dynamic.Entry](t)(s.Entries(ctx, id))
	var got []string
	for _, e := range all {
		if e.Value == nil {
			t.Errorf("%v is missing", e.Tuple)
		}
		if e.Kind != "version" {
			got = append(got, fmt.Sprint(e.Index, " ", e.Tuple))
		}
	}
	want := []string{
		` ("R", "Order", 72623859790382857)`,
		`Order_Address.City ("I", "Order_Address.City", "Paris", 72623859790382857)`,
		`Order_Country_Amount ("I", "Order_Country_Amount", "FR", -200, 72623859790382857)`,
		`Order_CreatedAt ("I", "Order_CreatedAt", 0, 1772359200000000005, 72623859790382857)`,
		`Order_Editor ("I", "Order_Editor", nil, 72623859790382857)`,
		`Order_Number_unique ("I", "Order_Number_unique", "A-1002")`,
		`Order_Status_CreatedAt ("I", "Order_Status_CreatedAt", 1, 1772359200000000005, 72623859790382857)`,
		`Order_count ("I", "Order_count")`,
		`Order_count_Status ("I", "Order_count_Status", 1)`,
		`Order_rank_Status_Amount ("I", "Order_rank_Status_Amount", 1, -200, 72623859790382857)`,
		`Order_sum_Amount_Country ("I", "Order_sum_Amount_Country", "FR")`,
		`Order_unshipped ("I", "Order_unshipped", 1772359200000000005, 72623859790382857)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { tx.Clear(all[4].Key); return nil }))
	for i, e := range must[[]dynamic.Entry](t)(s.Entries(ctx, id)) {
		if (e.Value == nil) != (i == 4) {
			t.Errorf("%v: %x", e.Tuple, e.Value)
		}
	}
	if _, err := s.Entries(ctx, must[dynamic.ID](t)(s.ParseID("1"))); !errors.Is(err, persistable.ErrNotFound) {
		t.Error(err)
	}
}

// TestDrop: an index is gone, with its entries and its definition; writes go on.
func TestDrop(t *testing.T) {
	db := seeded(t)
	s := open(t, db, "tenants", "tenant-1", "orders")
	for _, name := range []string{"Order_Number_unique", "Order_rank_Status_Amount", "Order_Tags", "Order_version"} {
		check(t, s.Drop(ctx, name))
		if err := s.Drop(ctx, name); !errors.Is(err, persistable.ErrNoIndex) {
			t.Errorf("once more: %v", err)
		}
	}
	s = open(t, db, "tenants", "tenant-1", "orders")
	for _, ix := range s.Schema().Indexes {
		if strings.Contains(ix.Name, "Number") || strings.Contains(ix.Name, "rank") || strings.Contains(ix.Name, "Tags") {
			t.Errorf("there is %s", ix.Name)
		}
	}
	check(t, s.Create(ctx, must[*dynamic.Record](t)(s.ParseRecord([]byte(`{"Number":"A-1001","Tags":["a"]}`)))))
	sound(t, s.Indexes())
	if _, err := bazaar.OrderStoreOf(db, "tenant-1").ByNumber(ctx, "A-1001"); !errors.Is(err, persistable.ErrNotBuilt) {
		t.Errorf("generated code reads the index: %v", err)
	}
	foreign := open(t, db, "settings")
	check(t, foreign.Drop(ctx, "Setting_expiry"))
	check(t, foreign.Create(ctx, must[*dynamic.Record](t)(foreign.ParseRecord([]byte(`{"ID":"x"}`)))))
}
