// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestFormats reads records, indexes, headers, versions and tokens that earlier versions
// wrote, and writes them.
func TestFormats(t *testing.T) {
	unscattered(t)
	token := regexp.MustCompile(`^(.*: 02(?:52|49)(?:[0-9a-f]{2})* = 01(?:[0-9a-f]{2}))[0-9a-f]{16}`) // of records, and of entries that copy them
	stamp := regexp.MustCompile(`(33|= )[0-9a-f]{20}([0-9a-f]{4}[^ ]* = .*|[0-9a-f]{4}|)$`)           // of a commit
	layer := contents.Layer{
		Name: "persistable/records",
		Open: func(t testing.TB) kv.Database { return enginetest.Open(t) },
		Write: func(t *testing.T, engine kv.Database) {
			setTokenKey(t, engine)
			storeExample(t, open(t, engine))
		},
		Mask: func(line string) string {
			line = token.ReplaceAllString(line, "$1<token>")
			if strings.HasPrefix(line, "/notes: ") {
				line = stamp.ReplaceAllString(line, "$1<commit>$2")
			}
			return line
		},
		Read: func(t *testing.T, engine kv.Database) { readStored(t, open(t, engine)) },
	}
	formats.Check(t, layer.Format())
}

// setTokenKey gives the database the key of its page tokens, which is random otherwise.
func setTokenKey(t *testing.T, engine kv.Database) {
	t.Helper()
	check(t, engine.Transact(ctx, func(tx kv.Transaction) error {
		d, err := directory.Root().CreateOrOpen(ctx, tx, []string{"kazahana", "persistable"})
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err == nil {
			tx.Set(tuple.AppendString(prefix, "page token key"), bytes.Repeat([]byte("key."), 8))
		}
		return err
	}))
}

// exampleSale is the sale of the example.
var exampleSale = &Sale{
	ID: "s", Status: Paid, Country: "JP", Tags: []string{"new", "old"}, Amount: 1000, Units: 3, Editor: ptr("ann"),
	CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Discount: ptr(int64(-5)), Code: ptr("A1"),
}

// exampleArticle is stored in two chunks.
var exampleArticle = &Article{
	ID: "large", Section: "s", Slug: "large", ISBN: ptr("1"), Tags: []string{"t", "u"}, Published: day0, Body: bytes.Repeat([]byte("x"), 120_000),
}

// exampleOrder returns an order of the example.
func exampleOrder(i int) *Order {
	return &Order{ID: idgen.ID(1000 + i), TenantID: "t", Number: fmt.Sprint("A-", i), Status: OrderStatus(i % 3), CreatedAt: day0.AddDate(0, 0, i), Amount: -int64(i)}
}

// exampleQueries are the queries with tokens in the example: of a query with one plan, of one
// with several, and of a scan.
func exampleQueries(t *testing.T, db *persistable.DB) map[string]*persistable.Query[*Order] {
	orders := OrderStoreOf(db, "t")
	return map[string]*persistable.Query[*Order]{
		"page": orders.OrderedByNumber().Limit(2).Query(),
		"find": found[*Order](t)(orders.Find(OrderFields.Status.In(Paid, Shipped))).Limit(2),
		"scan": orders.ByStatusCreatedAt(Pending).Query(),
	}
}

// storeExample stores the records of the example, and tokens as bodies of articles.
func storeExample(t *testing.T, db *persistable.DB) {
	for i := range 9 {
		o := exampleOrder(i)
		check(t, OrderStoreOf(db, "t").CreateWithID(ctx, o.ID, &Order{TenantID: o.TenantID, Number: o.Number, Status: o.Status, CreatedAt: o.CreatedAt, Amount: o.Amount}))
	}
	check(t, ArticleStoreOf(db).Save(ctx, exampleArticle))
	check(t, SaleStoreOf(db).Create(ctx, exampleSale))
	for i := int64(1); i <= 3; i++ {
		check(t, PlayerStoreOf(db).Save(ctx, &Player{ID: i, Game: "go", Score: 100 * i}))
	}
	for name, q := range exampleQueries(t, db) {
		token := ""
		if name == "scan" {
			scan := persistable.Across(q, "")
			readSome(t, scan, 2)
			token = scan.Token()
		} else {
			token = must[persistable.Page[*Order]](t)(q.Page(ctx, "")).Next
		}
		check(t, ArticleStoreOf(db).Save(ctx, &Article{ID: name, Section: "tokens", Slug: name, Body: []byte(token)}))
	}
	notes := NoteStoreOf(db)
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		return errors.Join(notes.In(tx).Save(ctx, &Note{ID: 1, Text: "a"}), notes.In(tx).Save(ctx, &Note{ID: 2, Text: "b"}))
	}))
	must[int](t)(notes.Feed().Consumer("mail").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }))
	check(t, notes.Delete(ctx, 1))
}

// readStored checks all that storeExample has stored.
func readStored(t *testing.T, db *persistable.DB) {
	orders, sales, articles := OrderStoreOf(db, "t"), SaleStoreOf(db), ArticleStoreOf(db)
	for i := range 9 {
		want := exampleOrder(i)
		if diff := compare(want, must[*Order](t)(orders.ByNumber(ctx, want.Number))); diff != "" {
			t.Errorf("order %d (-want +got):\n%s", i, diff)
		}
	}
	if diff := compare(exampleSale, must[*Sale](t)(sales.ByCode(ctx, "A1"))); diff != "" {
		t.Errorf("the sale (-want +got):\n%s", diff)
	}
	if got := must[int64](t)(sales.SumAmountByStatus(ctx, Paid)); got != 1000 {
		t.Errorf("the sum is %d", got)
	}
	if diff := compare(exampleArticle, must[*Article](t)(articles.ByISBN(ctx, ptr("1")))); diff != "" {
		t.Errorf("the article differs:\n%.2000s", diff)
	}
	if got := must[*Player](t)(PlayerStoreOf(db).NthByScoreByGame(ctx, "go", 0)); got.Score != 100 {
		t.Errorf("the first player has %d points", got.Score)
	}
	checkTokens(t, db)
	var changed []string
	must[int](t)(NoteStoreOf(db).Feed().Consumer("mail").Next(ctx, func(_ persistable.Tx, changes []persistable.Change[*Note, int64]) error {
		changed = nil
		for _, c := range changes {
			changed = append(changed, fmt.Sprint(c.ID, " ", c.Record))
		}
		return nil
	}))
	if got := strings.Join(changed, ", "); got != "1 <nil>" {
		t.Errorf("the consumer is given %s, want the deletion of note 1", got)
	}
	for _, verify := range []func(context.Context) (persistable.Report, error){
		orders.Indexes().Verify, sales.Indexes().Verify, articles.Indexes().Verify, NoteStoreOf(db).Indexes().Verify, PlayerStoreOf(db).Indexes().Verify,
	} {
		sound(t, verify)
	}
}

// checkTokens goes on from the tokens of the example.
func checkTokens(t *testing.T, db *persistable.DB) {
	for name, want := range map[string]string{"page": "A-2 A-3", "find": "A-4 A-5", "scan": "A-6"} {
		q, token := exampleQueries(t, db)[name], string(must[*Article](t)(ArticleStoreOf(db).Get(ctx, name)).Body)
		var got []string
		if name == "scan" {
			got = numbers(readSome(t, persistable.Across(q, token), 9))
		} else {
			got = numbers(must[persistable.Page[*Order]](t)(q.Page(ctx, token)).Records)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the token of %s goes on with %v, want %s", name, got, want)
		}
	}
}
