// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"regexp"
	"testing"
	"testing/cryptotest"

	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

// blobsLayer has the example of contents: one that is attached, one that is complete, and one that is being uploaded.
func blobsLayer(token *regexp.Regexp) *contents.Layer {
	changed := regexp.MustCompile(`(: 0253.*75706c6f616400.* = .*1a)[0-9a-f]{12}$`) // when bytes were stored last
	return &contents.Layer{
		Name: "persistable/blobs",
		Open: enginetest.InProcess,
		Write: func(t *testing.T, engine kv.Database) {
			setTokenKey(t, engine)
			s := blobs.PageStoreOf(open(t, engine), "b")
			cryptotest.SetGlobalRandom(t, 1) // of the ids
			check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("attached"))}))
			upload(t, s, []byte("complete"))
			w := persistable.BlobsOf(s).New(ctx)
			must[int](t)(w.Write([]byte("half")))
			check(t, w.Close())
		},
		Mask: func(line string) string {
			return changed.ReplaceAllString(token.ReplaceAllString(line, "$1<token>"), "$1<time>")
		},
		Read: readBlobsExample,
	}
}

// readBlobsExample reads the contents, and goes on with those that are not attached.
func readBlobsExample(t *testing.T, engine kv.Database) {
	s := blobs.PageStoreOf(open(t, engine), "b")
	page := must[*blobs.Page](t)(s.Get(ctx, 1))
	if got := string(download(t, s, page.Scan)); got != "attached" {
		t.Errorf("the content that is attached is %q", got)
	}
	want := map[bool]string{true: "complete", false: "half and half"}
	for u, err := range persistable.BlobsOf(s).Uploads(ctx, 0) {
		check(t, err)
		w := must[*persistable.BlobWriter](t)(persistable.BlobsOf(s).Resume(ctx, hex.EncodeToString(u.ID[:])))
		complete := u.SHA256 != [32]byte{}
		if !complete {
			must[int](t)(w.Write([]byte(" and half")))
		}
		page.Scan = must[persistable.Blob](t)(w.Commit())
		check(t, s.Save(ctx, page))
		if got := string(download(t, s, page.Scan)); got != want[complete] {
			t.Errorf("the upload is %q, want %q", got, want[complete])
		}
		delete(want, complete)
	}
	if len(want) > 0 {
		t.Errorf("%v is not among the uploads", want)
	}
	sound(t, s.Indexes().Verify)
}
