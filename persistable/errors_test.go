// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

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
		{second(orders.Find()), `persistable: Order: no condition is given: give one for the first field of an index, or read all records by Scan (it has 3 indexes: `},
		{second(orders.FindOne(ctx)), `persistable: Order: no condition is given: `},
		{orders.Indexes().Rebuild(ctx, "none"), `persistable: Order: no index has the name "none"; the names are Order_Number_unique, Order_Status, Order_Status_CreatedAt (it has 3 indexes: `},
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
			"Get": second(s.Get(ctx, 1)), "Exists": second(s.Exists(ctx, 1)), "GetMany": second(s.GetMany(ctx, 1)), "Unique": second(s.ByNumber(ctx, "1")),
			"Slice": second(s.ByStatus(Paid).Slice(ctx)), "Page": second(s.ByStatus(Paid).Page(ctx, "")), "Scan": second(persistable.ScanRange(&s.Store).From(idgen.ID(1)).Slice(ctx)),
			"Find": second(s.Find(OrderFields.Status.Equal(Paid))), "Count": second(s.Scan().Count(ctx)), "Build": s.Indexes().Build(ctx), "Verify": second(s.Indexes().Verify(ctx)),
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
