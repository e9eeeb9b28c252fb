// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

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
			"Build":  s.Indexes().Build(ctx),
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
		wantAs[*persistable.ForeignIndexError](t, err)
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
		only, err := persistable.OpenWith(ctx, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
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
	raw[0] = 3
	_, err := q.Page(ctx, base64.RawURLEncoding.EncodeToString(raw))
	wantError(t, err, persistable.ErrBadToken)
	wantNewer(t, "a token", err, "begin with the first page")
}
