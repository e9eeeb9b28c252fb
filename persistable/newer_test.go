// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"encoding/base64"
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
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
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
		Open: enginetest.InProcess, // the examples have versions of this engine, and those of a new cluster are lower
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
	former := regexp.MustCompile(`(686973746f72790033)[0-9a-f]{20}(.* = 15011a)[0-9a-f]{12}`) // when a header was replaced
	claim := regexp.MustCompile(`(: 0253.*026275696c64000272616e676500.* = [0-9a-f]{16}).*$`) // of a worker, and what it has done
	headers := contents.Layer{
		Name:  "persistable/headers",
		Open:  layer.Open,
		Write: storeHeaders,
		Mask: func(line string) string {
			line = former.ReplaceAllString(token.ReplaceAllString(line, "$1<token>"), "$1<commit>$2<time>")
			return claim.ReplaceAllString(line, "$1<claim>")
		},
		Read: readHeaders,
	}
	formats.Check(t, layer.Format(), headers.Format(), blobsLayer(token).Format())
}

// storeHeaders builds an index, and stops the build of a second one after its first batch.
func storeHeaders(t *testing.T, engine kv.Database) {
	setTokenKey(t, engine)
	db := openWith(t, engine, persistable.Options{BuildBatch: 2})
	for i := range 3 {
		check(t, kindStore(db, 0).Create(ctx, smallArticle(i)))
	}
	check(t, kindStore(db, 0, countBySection).Indexes().Build(ctx, persistable.BuildOptions{}))
	stop, cancel := context.WithCancel(ctx)
	hooked := worklist.WithHook(stop, func(s build.Stage) {
		if s == build.Moved {
			cancel()
		}
	})
	if err := kindStore(db, 0, countBySection, uniqueSlug).Indexes().Build(hooked, persistable.BuildOptions{}); err == nil {
		t.Fatal("the build was not stopped")
	}
}

// readHeaders reads the headers, and ends the build.
func readHeaders(t *testing.T, engine kv.Database) {
	db := openWith(t, engine, persistable.Options{})
	articles := kindStore(db, 0, countBySection, uniqueSlug).Indexes()
	var got []string
	for _, v := range must[[]persistable.SchemaVersion](t)(articles.History(ctx)) {
		text := fmt.Sprint(strings.Count(v.Schema, "field "), " fields")
		for _, ix := range v.Indexes {
			text += ", " + ix.KeyName
		}
		got = append(got, text)
	}
	if diff := compare([]string{"8 fields", "8 fields, Article_count_Section", "8 fields, Article_Slug_unique, Article_count_Section"}, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	check(t, articles.Build(ctx, persistable.BuildOptions{Lease: time.Millisecond}))
	if r := sound(t, articles.Verify); r.Records != 3 || len(r.Skipped) > 0 {
		t.Errorf("after the build: %+v", r)
	}
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
// with several, and of a scan. The first two have tokens of the page before, too.
func exampleQueries(t *testing.T, db *persistable.DB) map[string]*persistable.Query[*Order] {
	orders := OrderStoreOf(db, "t")
	return map[string]*persistable.Query[*Order]{
		"page": orders.OrderedByNumber().Limit(2).Query(),
		"find": found[*Order](t)(orders.Find(OrderFields.Status.In(Paid, Shipped))).Limit(2),
		"scan": orders.ByStatusCreatedAt(Pending).Query(),

		"page back": orders.OrderedByNumber().Limit(2).Query(),
		"find back": found[*Order](t)(orders.Find(OrderFields.Status.In(Paid, Shipped))).Limit(2),
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
		if strings.HasSuffix(name, " back") {
			token = must[persistable.Page[*Order]](t)(q.Page(ctx, token)).Previous
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
	for _, verify := range []func(context.Context, persistable.VerifyOptions) (persistable.Report, error){
		orders.Indexes().Verify, sales.Indexes().Verify, articles.Indexes().Verify, NoteStoreOf(db).Indexes().Verify, PlayerStoreOf(db).Indexes().Verify,
	} {
		sound(t, verify)
	}
}

// checkTokens goes on from the tokens of the example.
func checkTokens(t *testing.T, db *persistable.DB) {
	for name, want := range map[string]string{"page": "A-2 A-3", "find": "A-4 A-5", "scan": "A-6", "page back": "A-0 A-1", "find back": "A-1 A-2"} {
		article, err := ArticleStoreOf(db).Get(ctx, name)
		if errors.Is(err, persistable.ErrNotFound) && strings.HasSuffix(name, " back") {
			continue // the example is older than these tokens
		}
		check(t, err)
		q, token := exampleQueries(t, db)[name], string(article.Body)
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

// wantNewer checks that an error is an ErrNewer that names a version, and speaks neither of damage
// nor of a backup.
func wantNewer(t testing.TB, what string, err error, version string) {
	t.Helper()
	wantError(t, err, persistable.ErrNewer)
	if text := err.Error(); !strings.Contains(text, version) || strings.Contains(text, "backup") || strings.Contains(text, "damaged") {
		t.Errorf("%s: the error is %q", what, text)
	}
}

// makeNewer gives the header of the articles what a later version writes: what it needs, a line and an
// option that this version does not know. It returns the header's key and value.
func makeNewer(t testing.TB, db *persistable.DB, need string) (key, value []byte) {
	t.Helper()
	key = tuple.AppendString(tuple.AppendString(prefixOf(t, db, "articles"), "S"), "Art")
	h := must[tuple.Tuple](t)(tuple.Unpack(dump(t, db)[string(key)]))
	text := strings.Replace(h[2].(string), "string\n", "string fold=nfc\n", 1)
	text = "needs " + need + "\n" + strings.Replace(text, "\tid ", "\tsort nfc\n\tid ", 1)
	value = must[[]byte](t)(tuple.Tuple{int64(2), "v0.1.0", h[1], text}.Pack())
	write(t, db, func(tx kv.Transaction) {
		tx.Set(key, value)
		check(t, directory.Invalidate(ctx, tx))
	})
	return key, value
}

// TestNewerHeader: a program that meets a store which needs more than it knows reads there if the
// header says that it may, and writes nothing: no record, no index, no header. If the header does
// not say so, the program does neither.
func TestNewerHeader(t *testing.T) {
	engine := enginetest.Open(t)
	before := open(t, engine)
	check(t, ArtStoreOf(before).Create(ctx, &Art{ID: 1, Name: "a"}))
	key, value := makeNewer(t, before, "enum v0.9.0 read")
	for _, db := range []*persistable.DB{before, open(t, engine)} { // one knows the store from before
		s := ArtStoreOf(db)
		if a := must[*Art](t)(s.Get(ctx, 1)); a.Name != "a" {
			t.Errorf("read %+v", a)
		}
		for what, err := range map[string]error{
			"Create": s.Create(ctx, &Art{ID: 2, Name: "b"}),
			"Save":   s.Save(ctx, &Art{ID: 1, Name: "b"}),
			"Delete": s.Delete(ctx, 1),
			"Build":  s.Indexes().Build(ctx, persistable.BuildOptions{}),
		} {
			wantNewer(t, what, err, "run version v0.9.0 or later")
		}
		d := must[*dynamic.Store](t)(dynamic.Open(ctx, db, []string{"articles"}, ""))
		r := must[*dynamic.Record](t)(d.Get(ctx, must[dynamic.ID](t)(d.ParseID("1"))))
		wantNewer(t, "dynamic", d.Save(ctx, r), "run version v0.9.0 or later")
		if now := dump(t, db)[string(key)]; !bytes.Equal(now, value) {
			t.Errorf("the header is %q", now)
		}
	}
}

// TestHeaderThatIsNotRead: a program that must not read a store says so, of every operation.
func TestHeaderThatIsNotRead(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArtStoreOf(db)
	check(t, s.Create(ctx, &Art{ID: 1, Name: "a"}))
	makeNewer(t, db, "fold v0.8.0")
	_, err := s.Get(ctx, 1)
	wantNewer(t, "Get", err, "run version v0.8.0 or later")
	wantNewer(t, "Save", s.Save(ctx, &Art{ID: 1, Name: "b"}), "run version v0.8.0 or later")
	_, err = dynamic.Open(ctx, db, []string{"articles"}, "")
	wantNewer(t, "dynamic", err, "run version v0.8.0 or later")
}

// TestNewerIndex: an index with a word that this version does not know lets programs read and keeps
// them from writing, because they cannot maintain it.
func TestNewerIndex(t *testing.T) {
	for _, layout := range []string{"Name:string:fold=nfc", "Name:string:kind=text"} {
		engine := enginetest.Open(t)
		db := open(t, engine)
		check(t, ArtStoreOf(db).Create(ctx, &Art{ID: 1, Name: "a"}))
		key := tuple.AppendString(tuple.AppendString(prefixOf(t, db, "articles"), "S"), "Art")
		h := must[tuple.Tuple](t)(tuple.Unpack(dump(t, db)[string(key)]))
		h[1] = append(h[1].(tuple.Tuple), tuple.Tuple{"Art_text_Name", layout, 2})
		write(t, db, func(tx kv.Transaction) { tx.Set(key, must[[]byte](t)(h.Pack())) })
		s := ArtStoreOf(open(t, engine))
		must[*Art](t)(s.Get(ctx, 1))
		err := s.Save(ctx, &Art{ID: 1, Name: "b"})
		wantError(t, err, persistable.ErrForeignIndex)
		wantNewer(t, layout, err, "run that version or a later one")
	}
}

// TestNewerRecord: a record of a later format is an ErrNewer.
func TestNewerRecord(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArtStoreOf(db)
	check(t, s.Create(ctx, &Art{ID: 1, Name: "a"}))
	key := recordKey(prefixOf(t, db, "articles"), "Art", 1)
	write(t, db, func(tx kv.Transaction) { tx.Set(key, append([]byte{2}, dump(t, db)[string(key)][1:]...)) })
	_, err := s.Get(ctx, 1)
	wantNewer(t, "Get", err, "of format 2")
	wantNewer(t, "Save", s.Save(ctx, &Art{ID: 1, Name: "b"}), "of format 2")
}

// TestNewerBlob: a reference to a content of a later format is an ErrNewer.
func TestNewerBlob(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := blobs.PageStoreOf(db, "b")
	scan := upload(t, s, []byte("content"))
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: scan}))
	stored := must[[]byte](t)(scan.MarshalBinary())
	later := append([]byte{2}, stored[1:]...)
	changed := 0
	for key, value := range dump(t, db) {
		if bytes.HasPrefix([]byte(key), prefixOf(t, db, "books", "b", "pages")) && bytes.Contains(value, stored) {
			write(t, db, func(tx kv.Transaction) { tx.Set([]byte(key), bytes.Replace(value, stored, later, 1)) })
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%d keys have the reference", changed)
	}
	_, err := s.Get(ctx, 1)
	wantNewer(t, "Get", err, "formats up to 1")
}

// TestNewerDatabase: a database that as a whole needs what a program does not know is not
// opened, or for reading only.
func TestNewerDatabase(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	key := tuple.AppendString(prefixOf(t, db, "kazahana", "persistable"), "needs")
	for need, readable := range map[string]bool{"fold v0.8.0": false, "enum v0.9.0 read": true} {
		write(t, db, func(tx kv.Transaction) { tx.Set(key, tuple.AppendString(nil, need)) })
		_, err := persistable.Open(ctx, engine)
		wantNewer(t, need, err, "run version v0.")
		only, err := persistable.Open(ctx, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
		if readable {
			check(t, err)
			check(t, only.Close())
			continue
		}
		wantNewer(t, need, err, "run version v0.")
	}
}

// TestNewerToken: a page token of a later version says to begin with the first page.
func TestNewerToken(t *testing.T) {
	s := OrderStoreOf(open(t, enginetest.Open(t)), "t")
	someOrders(t, s, 9)
	q := s.ByStatusCreatedAt(Pending).Limit(1)
	raw := must[[]byte](t)(base64.RawURLEncoding.DecodeString(must[persistable.Page[*Order]](t)(q.Page(ctx, "")).Next))
	raw[0] = 5
	_, err := q.Page(ctx, base64.RawURLEncoding.EncodeToString(raw))
	wantError(t, err, persistable.ErrBadToken)
	wantNewer(t, "a token", err, "begin with the first page")
}
