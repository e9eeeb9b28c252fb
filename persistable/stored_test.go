// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// prefixOf returns the prefix of a directory.
func prefixOf(t testing.TB, db *persistable.DB, path ...string) []byte {
	t.Helper()
	d := must[*directory.Directory](t)(directory.Root().Open(ctx, db.Engine(), path))
	return must[[]byte](t)(d.Prefix())
}

// write changes the database past the stores.
func write(t testing.TB, db *persistable.DB, fn func(tx kv.Transaction)) {
	t.Helper()
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { fn(tx); return nil }))
}

// TestLayout pins every key and value of one order, byte by byte.
func TestLayout(t *testing.T) {
	unscattered(t)
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	o := &Order{TenantID: "t", Number: "A-1001", Status: Paid, CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Amount: 1000}
	check(t, s.CreateWithID(ctx, 0x0102030405060708, o))
	prefix := prefixOf(t, db, "tenants", "t", "orders")
	got := map[string]string{}
	for key, value := range dump(t, db) {
		if rest, ok := strings.CutPrefix(key, string(prefix)); ok {
			got[tuple.Describe([]byte(rest))] = hex.EncodeToString(value)
		}
	}
	record := must[tuple.Tuple](t)(tuple.Unpack([]byte("\x02R\x00\x02Order\x00\x1c\x01\x02\x03\x04\x05\x06\x07\x08")))
	token := got[record.String()][4:20]
	want := map[string]string{
		// format, chunks, token, then id, TenantID, Number, Status, CreatedAt, Amount
		`("R", "Order", 72623859790382856)`: "01" + "00" + token +
			"090807060504030201" + "120174" + "1a06412d31303031" + "2002" + "2a08" + "08908090cd06" + "1005" + "30d00f",
		`("I", "Order_Number_unique", "A-1001")`:                                     "1c0102030405060708",
		`("I", "Order_Status", 1, 72623859790382856)`:                                "",
		`("I", "Order_Status_CreatedAt", 1, 1772355600000000005, 72623859790382856)`: "",
		`("S", "Order")`: hex.EncodeToString(must[[]byte](t)(tuple.Tuple{
			1, tuple.Tuple{
				tuple.Tuple{"Order_Number_unique", "Number:string", 2},
				tuple.Tuple{"Order_Status", "Status:int", 2},
				tuple.Tuple{"Order_Status_CreatedAt", "Status,CreatedAt:int,time", 2},
			}, orderSchema.Lock,
		}.Pack())),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
	if token == "0000000000000000" {
		t.Error("the creation token is zero")
	}
}

func TestCreationTokenSurvivesUpdates(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArtStoreOf(db)
	check(t, s.Create(ctx, &Art{ID: 1, Name: "a"}))
	key := recordKey(prefixOf(t, db, "articles"), "Art", 1)
	before := dump(t, db)[string(key)]
	check(t, s.Save(ctx, &Art{ID: 1, Name: "b"}))
	after := dump(t, db)[string(key)]
	if !bytes.Equal(before[:10], after[:10]) || bytes.Equal(before, after) {
		t.Errorf("the header changed from %x to %x", before, after)
	}
}

// TestChunks moves a record across the sizes at which its form changes.
func TestChunks(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArticleStoreOf(db)
		neighbour := NewArticle(Article{Section: "s", Slug: "before", Published: day0})
		check(t, s.Create(ctx, neighbour))
		a := NewArticle(Article{Section: "s", Slug: "a", Tags: []string{"t"}, Published: day0})
		check(t, s.Create(ctx, NewArticle(Article{Section: "s", Slug: "after", Published: day0, Body: make([]byte, 120_000)})))
		overhead := 10 + 2 + len(a.ID) + 3 + 3 + 3 + 1 + 3 + 6 + 1
		for _, size := range []int{0, 250_000, 100_000 - overhead - 2, 99_999, 100_001, 199_000, 450_000, 100_000, 10} {
			a.Body = bytes.Repeat([]byte{byte(size)}, size)
			check(t, s.Save(ctx, a))
			got := must[*Article](t)(s.Get(ctx, a.ID))
			if diff := compare(len(a.Body), len(got.Body)); diff != "" || !bytes.Equal(got.Body, a.Body) {
				t.Fatalf("%d bytes came back as %d", size, len(got.Body))
			}
			for _, q := range []*persistable.Query[*Article]{s.Scan(), s.Scan().Reverse(), s.ByTags("t"), persistable.ScanRange(&s.Store).From(a.ID).Limit(1).Query()} {
				found := false
				for v, err := range q.All(ctx) {
					check(t, err)
					found = found || v.ID == a.ID && bytes.Equal(v.Body, a.Body)
				}
				if !found {
					t.Errorf("a record of %d bytes is not found by a query", size)
				}
			}
			if n := must[int](t)(s.Scan().Count(ctx)); n != 3 {
				t.Errorf("%d records, want 3", n)
			}
			sound(t, s.Indexes().Verify)
		}
		a.Body = make([]byte, 300_000)
		check(t, s.Save(ctx, a))
		check(t, s.Delete(ctx, a.ID))
		for key := range dump(t, db) {
			if bytes.Contains([]byte(key), []byte(a.ID)) {
				t.Errorf("a key of the deleted record is left: %q", key)
			}
		}
	})
}

func TestUnknownFieldsSurvive(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := ArtStoreOf(db)
		check(t, s.Create(ctx, &Art{ID: 1, Name: "a"}))
		key := recordKey(prefixOf(t, db, "articles"), "Art", 1)
		unknown := []byte("\xa2\x06\x05newer\xa8\x06\x01")
		stored := slices.Concat(dump(t, db)[string(key)], unknown)
		write(t, db, func(tx kv.Transaction) { tx.Set(key, stored) })

		a := must[*Art](t)(s.Get(ctx, 1))
		a.Name = "b"
		check(t, s.Save(ctx, a))
		if value := dump(t, db)[string(key)]; !bytes.HasSuffix(value, unknown) {
			t.Errorf("the unknown fields are gone: %q", value)
		}
		check(t, s.Save(ctx, a))
		if value := dump(t, db)[string(key)]; bytes.Count(value, unknown) != 1 {
			t.Errorf("the unknown fields were doubled: %q", value)
		}
	})
}

func TestStoredBytesThatCannotBeUsed(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := ArtStoreOf(db)
	check(t, s.Create(ctx, &Art{ID: 1, Name: "a"}))
	key := recordKey(prefixOf(t, db, "articles"), "Art", 1)
	good := dump(t, db)[string(key)]
	header := string(good[:10])
	cases := map[string]struct {
		value  string
		reason string
		remedy string
	}{
		"newer format":      {"\x02" + string(good[1:]), "format 2", "run that version or a later one"},
		"no format":         {"\x00", "does not begin with a format", "restore"},
		"empty":             {"", "empty", "restore"},
		"cut header":        {header[:6], "header is cut off", "restore"},
		"absurd chunks":     {"\x01\xff\xff\xff\x7f12345678", "header is cut off or damaged", "restore"},
		"missing chunks":    {"\x01\x02" + string(good[2:]), "further chunks", "restore"},
		"cut record":        {string(good[:len(good)-1]), "cannot be decoded", "restore"},
		"another wire type": {header + "\x0a\x01x", "cannot be decoded", "restore"},
		"another id":        {header + "\x08\x04\x12\x01a", "says that its id is", "restore"},
		"no id":             {header, "says that its id is", "restore"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			write(t, db, func(tx kv.Transaction) { tx.Set(key, []byte(c.value)) })
			for verb, err := range map[string]error{
				"Get": second(s.Get(ctx, 1)), "GetMany": second(s.GetMany(ctx, []int32{2, 1})), "Scan": second(s.Scan().Slice(ctx)),
				"Scan back": second(s.Scan().Reverse().Slice(ctx)), "index": second(s.ByName("a").Slice(ctx)),
				"Save": s.Save(ctx, &Art{ID: 1, Name: "b"}), "Delete": s.Delete(ctx, 1), "build": s.Indexes().Rebuild(ctx, "Art_Name", persistable.BuildOptions{}),
			} {
				if verb == "index" && err == nil {
					continue // "build" may have come first
				}
				if verb == "index" && errors.Is(err, persistable.ErrNotBuilt) {
					continue
				}
				e := wantAs[*persistable.RecordError](t, err)
				if strings.Contains(e.Error(), "delete") || strings.Contains(e.Error(), "remove") {
					t.Errorf("%s: %v: a newer program may have written it", verb, e)
				}
				if e.Type != "Art" || !bytes.Equal(e.Key, key) || !strings.Contains(e.Error(), c.reason) || !strings.Contains(e.Error(), c.remedy) {
					t.Errorf("%s: %v\nwant %q and %q", verb, e, c.reason, c.remedy)
				}
			}
			report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
			if len(report.Faults) == 0 {
				t.Error("Verify finds nothing")
			}
			write(t, db, func(tx kv.Transaction) { tx.Set(key, good) })
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			sound(t, s.Indexes().Verify)
		})
	}
}

func TestStoreOfANewerFormat(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	check(t, ArtStoreOf(db).Create(ctx, &Art{ID: 1, Name: "a"}))
	key := slices.Concat(prefixOf(t, db, "articles"), must[[]byte](t)(tuple.Tuple{"S", "Art"}.Pack()))
	none := tuple.Tuple{}
	for _, c := range []struct {
		reason string
		header tuple.Tuple
	}{
		{"format 3", tuple.Tuple{3, "whatever"}},
		{"damaged", tuple.Tuple{2, none, artSchema.Lock}},
		{"damaged", tuple.Tuple{1, none}},
		{"damaged", tuple.Tuple{0, none, artSchema.Lock}},
		{"damaged", tuple.Tuple{1, none, none}},
		{"damaged", tuple.Tuple{1, none, ""}},
		{"damaged", tuple.Tuple{1, none, artSchema.Lock + "\tscatter 3\n"}},
		{"damaged", tuple.Tuple{1, none, artSchema.Lock + "\tscatter 512\n"}},
		{"damaged", tuple.Tuple{1, none, artSchema.Lock + "\tfield 3 A unheard\n"}},
		{"damaged", tuple.Tuple{1, none, artSchema.Lock + "\tfield 3 A message(B)\n"}},
		{"damaged", tuple.Tuple{1, none, artSchema.Lock, 8}},
	} {
		write(t, db, func(tx kv.Transaction) { tx.Set(key, must[[]byte](t)(c.header.Pack())) })
		s := ArtStoreOf(open(t, engine)) // nothing cached
		for _, err := range []error{second(s.Get(ctx, 1)), s.Create(ctx, &Art{ID: 2}), s.Delete(ctx, 1), second(s.Scan().Slice(ctx))} {
			e := wantAs[*persistable.RecordError](t, err)
			if !strings.Contains(e.Error(), c.reason) {
				t.Errorf("%v: %v, want %q", c.header, e, c.reason)
			}
		}
	}
}

func TestDanglingEntry(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := OrderStoreOf(db, "t")
	o := s.New(Order{Number: "A-1", Status: Paid, CreatedAt: day0, Amount: 1})
	check(t, s.Create(ctx, o))
	record := recordKey(prefixOf(t, db, "tenants", "t", "orders"), "Order", int64(o.ID))
	write(t, db, func(tx kv.Transaction) { tx.Clear(record) })
	for _, err := range []error{second(s.ByNumber(ctx, "A-1")), second(s.ByStatus(Paid).Slice(ctx)), second(s.OrderedByNumber().First(ctx))} {
		e := wantAs[*persistable.RecordError](t, err)
		if !strings.Contains(e.Error(), "Indexes().Rebuild") {
			t.Errorf("%v has no remedy", e)
		}
	}
	if report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) != 3 {
		t.Errorf("faults: %v", report.Faults)
	}
	for _, name := range []string{"Order_Number_unique", "Order_Status", "Order_Status_CreatedAt"} {
		check(t, s.Indexes().Rebuild(ctx, name, persistable.BuildOptions{}))
	}
	sound(t, s.Indexes().Verify)
}

// FuzzStoredRecord reads arbitrary bytes under a record's key: an error or a
// record, never a panic.
func FuzzStoredRecord(f *testing.F) {
	db := open(f, enginetest.Open(f))
	s := ArticleStoreOf(db)
	a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x"}, Published: day0, Body: []byte("body")})
	check(f, s.Create(ctx, a))
	key := recordKey(prefixOf(f, db, "articles"), "Article", a.ID)
	f.Add(dump(f, db)[string(key)])
	f.Add([]byte("\x01\x01tokentok"))
	f.Fuzz(func(t *testing.T, value []byte) {
		tx := must[kv.Transaction](t)(db.Engine().Begin())
		defer tx.Cancel()
		tx.Set(key, value)
		in := s.In(db.In(tx))
		v, err := in.Get(context.Background(), a.ID)
		if (v == nil) == (err == nil) {
			t.Errorf("Get = %v, %v", v, err)
		}
		_, _ = in.Scan().Reverse().Slice(ctx)
		_ = in.Save(ctx, a)
		_ = in.Delete(ctx, a.ID)
	})
}

// FuzzStoredEntry reads arbitrary bytes as index entries.
func FuzzStoredEntry(f *testing.F) {
	db := open(f, enginetest.Open(f))
	s := ArticleStoreOf(db)
	a := NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("1"), Tags: []string{"x"}, Published: day0, Body: []byte("body")})
	check(f, s.Create(ctx, a))
	entries := slices.Concat(prefixOf(f, db, "articles"), []byte("\x02I\x00"))
	f.Add([]byte("\x02Article_Tags\x00\x02x\x00\x02id\x00"), []byte{})
	f.Add([]byte("\x02Article_ISBN_unique\x00\x021\x00"), []byte("\x02id\x00"))
	f.Fuzz(func(t *testing.T, suffix, value []byte) {
		if len(suffix) > 5000 || len(value) > 50_000 {
			return
		}
		tx := must[kv.Transaction](t)(db.Engine().Begin())
		defer tx.Cancel()
		tx.Set(slices.Concat(entries, suffix), value)
		in := s.In(db.In(tx))
		_, _ = in.OrderedByTags().Slice(ctx)
		_, _ = in.BySectionPublished("s").Slice(ctx)
		_, _ = in.ByISBN(ctx, ptr("1"))
		_ = in.Save(ctx, a)
	})
}
