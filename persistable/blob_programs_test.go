// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	tenancy "github.com/kazahana-db/kazahana/persistable/tenants"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs/before"
)

// TestBlobsOfAnOlderProgram: a program that does not know the field keeps the content, and removes it with the record.
func TestBlobsOfAnOlderProgram(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	old, s := before.PageStoreOf(open(t, engine), "b"), blobs.PageStoreOf(db, "b")
	check(t, old.Create(ctx, &before.Page{ID: 1, Book: "b"}))
	scan := upload(t, s, []byte("scan"))
	check(t, s.Update(ctx, 1, func(p *blobs.Page) error { p.Scan = scan; return nil }))
	check(t, old.Save(ctx, &before.Page{ID: 1, Book: "b", Title: "saved"}))
	check(t, old.Update(ctx, 1, func(p *before.Page) error { p.Title += ", updated"; return nil }))
	page := must[*blobs.Page](t)(s.Get(ctx, 1))
	if got := string(download(t, s, page.Scan)); got != "scan" || page.Title != "saved, updated" {
		t.Errorf("%q has the content %q", page.Title, got)
	}
	check(t, old.Delete(ctx, 1))
	if contents, uploads := blobKeys(t, db, "b"); len(contents)+len(uploads) > 0 {
		t.Errorf("there are left %q %q", contents, uploads)
	}
}

// TestBlobsOfTenants: copies, moves, streams and removals of a tenant have the contents with them.
func TestBlobsOfTenants(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := blobs.PageStoreOf(db, "b")
	content := contentOf(2*chunk+1, 1)
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, content)}))
	half := persistable.BlobsOf(s).New(ctx)
	must[int](t)(half.Write([]byte("half")))
	check(t, half.Close())
	books := tenancy.Of(db, "books")
	must[tenancy.Progress](t)(books.Copy(ctx, "b", "copy", tenancy.CopyOptions{}))
	var stream bytes.Buffer
	must[tenancy.Progress](t)(books.Export(ctx, "b", &stream, tenancy.ExportOptions{}))
	check(t, books.Delete(ctx, "b"))
	must[tenancy.Progress](t)(books.Import(ctx, "imported", &stream, tenancy.ImportOptions{}))
	check(t, books.Move(ctx, "copy", "moved"))
	for _, name := range []string{"imported", "moved"} {
		s := blobs.PageStoreOf(db, name)
		page := must[*blobs.Page](t)(s.Get(ctx, 1))
		if !bytes.Equal(download(t, s, page.Scan), content) {
			t.Errorf("%s: the content is another one", name)
		}
		w := must[*persistable.BlobWriter](t)(persistable.BlobsOf(s).Resume(ctx, half.ID()))
		must[int](t)(w.Write([]byte(" and half")))
		page.Scan = must[persistable.Blob](t)(w.Commit())
		check(t, s.Save(ctx, page))
		if got := string(download(t, s, page.Scan)); got != "half and half" {
			t.Errorf("%s: the upload that goes on is %q", name, got)
		}
		if contents, uploads := blobKeys(t, db, name); len(contents) != 2 || len(uploads) != 0 {
			t.Errorf("%s: %d keys of contents, %d of uploads", name, len(contents), len(uploads))
		}
		sound(t, s.Indexes().Verify)
	}
}

// TestBlobsAsJSON: a record as JSON has the reference, which cannot be written where the content is not.
func TestBlobsAsJSON(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, other := blobs.PageStoreOf(db, "b"), blobs.PageStoreOf(db, "other")
	page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("scan"))}
	check(t, s.Create(ctx, page))
	check(t, other.Create(ctx, &blobs.Page{ID: 9, Book: "other"}))
	d := must[*dynamic.Store](t)(dynamic.Open(ctx, db, []string{"books", "b", "pages"}, "Page"))
	r := must[*dynamic.Record](t)(d.Get(ctx, must[dynamic.ID](t)(d.ParseID("1"))))
	text := must[[]byte](t)(json.Marshal(r))
	var shown struct{ Scan persistable.Blob }
	check(t, json.Unmarshal(text, &shown))
	if shown.Scan != page.Scan {
		t.Errorf("the record is %s, want %v", text, page.Scan)
	}
	check(t, d.Save(ctx, must[*dynamic.Record](t)(d.ParseRecord(text)))) // as an editor does
	if got := string(download(t, s, page.Scan)); got != "scan" {
		t.Errorf("the content is %q", got)
	}
	elsewhere := must[*dynamic.Store](t)(dynamic.Open(ctx, db, []string{"books", "other", "pages"}, "Page"))
	imported := must[*dynamic.Record](t)(elsewhere.ParseRecord(bytes.ReplaceAll(text, []byte(`"b"`), []byte(`"other"`))))
	if err := elsewhere.Save(ctx, imported); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("the record in another store: %v", err)
	}
	if _, err := d.ParseRecord(bytes.ReplaceAll(text, []byte(page.Scan.String()), []byte("scan.png"))); err == nil {
		t.Error("a text that is not a blob")
	}
	check(t, d.Delete(ctx, r.ID()))
	if contents, _ := blobKeys(t, db, "b"); len(contents) > 0 {
		t.Errorf("there are left %q", contents)
	}
	if err := d.Save(ctx, must[*dynamic.Record](t)(d.ParseRecord(text))); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("the record after its deletion: %v", err)
	}
}
