// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

// blobDamages are what is wrong with contents, or worth knowing of them.
var blobDamages = []damage{
	{"missing content", "record/missing-blob", func(w world) []byte {
		w.tx.Clear(w.first(w.page("B", "Page")).Key)
		return w.page("R", "Page", 1)
	}},
	{"missing last chunk", "record/missing-blob", func(w world) []byte {
		w.tx.Clear(append(w.first(w.page("B", "Page")).Key, 0x15, 1))
		return w.page("R", "Page", 1)
	}},
	{"content of another record", "record/missing-blob", func(w world) []byte {
		p := w.first(w.page("B", "Page"))
		h, err := format.DecodeBlobHead([16]byte(p.Key[len(p.Key)-16:]), p.Value)
		check(w.t, err)
		h.Owner = []byte{0x15, 2}
		w.tx.Set(p.Key, h.Encode())
		return w.page("R", "Page", 1)
	}},
	{"content without a record", "store/unattached-blob", func(w world) []byte {
		key := format.NewBlobKeys(w.page(), "Page").Upload([16]byte{1})
		w.tx.Set(key, format.Upload{Size: 7, Changed: time.Unix(1, 0)}.Encode())
		return key
	}},
	{"damaged upload", "store/bad-value", func(w world) []byte {
		key := format.NewBlobKeys(w.page(), "Page").Upload([16]byte{1})
		w.tx.Set(key, []byte("x"))
		return key
	}},
	{"content of no type", "store/stray-key", func(w world) []byte {
		key := w.page("B", "Sheet", "x")
		w.tx.Set(key, nil)
		return key
	}},
}

// page packs a key of the directory of a book.
func (w world) page(elements ...any) []byte { return w.key("books/b/pages", elements...) }

// seedBlobs stores a page with a content of two chunks.
func seedBlobs(t *testing.T, db *persistable.DB) {
	t.Helper()
	pages := blobs.PageStoreOf(db, "b")
	w := persistable.BlobsOf(pages).New(t.Context())
	_, err := w.Write([]byte(strings.Repeat("x", format.BlobChunk+1)))
	check(t, err)
	scan, err := w.Commit()
	check(t, err)
	check(t, pages.Create(t.Context(), &blobs.Page{ID: 1, Book: "b", Scan: scan}))
}
