// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

//go:generate go tool persistgen ./testdata/blobs/before ./testdata/blobs

// chunk is how many bytes a chunk of a content has, and batch those that a transaction writes.
const (
	chunk = format.BlobChunk
	batch = 14 * chunk
)

// contentOf returns n bytes that are the same for a seed.
func contentOf(n int, seed uint64) []byte {
	r, b := rand.New(rand.NewPCG(seed, 0)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// upload writes a content.
func upload(t testing.TB, s persistable.AnyStore, content []byte) persistable.Blob {
	t.Helper()
	w := persistable.BlobsOf(s).New(ctx)
	must[int64](t)(io.Copy(w, bytes.NewReader(content)))
	return must[persistable.Blob](t)(w.Commit())
}

// download reads a content.
func download(t testing.TB, s persistable.AnyStore, b persistable.Blob) []byte {
	t.Helper()
	return must[[]byte](t)(io.ReadAll(persistable.BlobsOf(s).Open(ctx, b)))
}

// blobKeys returns the keys of contents, and of uploads, in the directory of a book.
func blobKeys(t testing.TB, db *persistable.DB, book string) (contents, uploads []string) {
	t.Helper()
	prefix := prefixOf(t, db, "books", book, "pages")
	keys := format.NewBlobKeys(prefix, "Page")
	for key := range dump(t, db) {
		switch {
		case strings.HasPrefix(key, string(prefix)+"\x02B\x00"):
			contents = append(contents, key)
		case strings.HasPrefix(key, string(keys.Uploads().Begin)):
			uploads = append(uploads, key)
		}
	}
	return contents, uploads
}

// TestBlobs writes contents of all kinds of sizes, attaches, reads, replaces and removes them.
func TestBlobs(t *testing.T) {
	for _, n := range []int{0, 1, 500, chunk - 1, chunk, chunk + 1, 3*chunk + 7, batch, 2*batch + chunk/2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := blobs.PageStoreOf(db, "b")
			content := contentOf(n, 1)
			page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, content)}
			if got := page.Scan.Size; got != int64(n) {
				t.Errorf("Size is %d, want %d", got, n)
			}
			check(t, s.Create(ctx, page))
			stored := must[*blobs.Page](t)(s.Get(ctx, 1))
			if stored.Scan != page.Scan || !stored.Audio.IsZero() || stored.Scan.IsZero() {
				t.Errorf("the record has %v and %v", stored.Scan, stored.Audio)
			}
			if !bytes.Equal(download(t, s, stored.Scan), content) {
				t.Error("the content is another one")
			}
			if n < 1000 { // it reads each byte by itself
				check(t, iotest.TestReader(persistable.BlobsOf(s).Open(ctx, stored.Scan), content))
			}
			contents, uploads := blobKeys(t, db, "b")
			if want := 1 + (n+chunk-1)/chunk; len(contents) != want || len(uploads) != 0 {
				t.Errorf("%d keys of contents, want %d; %d of uploads", len(contents), want, len(uploads))
			}
			sound(t, s.Indexes().Verify)

			stored.Scan = upload(t, s, []byte("new"))
			check(t, s.Save(ctx, stored))
			if got := download(t, s, stored.Scan); string(got) != "new" {
				t.Errorf("the new content is %q", got)
			}
			if n > 0 {
				if _, err := persistable.BlobsOf(s).Open(ctx, page.Scan).Read(make([]byte, 1)); !errors.Is(err, persistable.ErrNoBlob) {
					t.Errorf("the former content: %v", err)
				}
			}
			check(t, s.Delete(ctx, 1))
			if contents, uploads := blobKeys(t, db, "b"); len(contents)+len(uploads) > 0 {
				t.Errorf("a deleted record leaves %q %q", contents, uploads)
			}
		})
	}
}

// TestBlobAtRandom reads parts of a content, by ReadAt and after Seek.
func TestBlobAtRandom(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := blobs.PageStoreOf(db, "b")
	content := contentOf(2*batch+5, 2)
	b := upload(t, s, content)
	r := persistable.BlobsOf(s).Open(ctx, b)
	random := rand.New(rand.NewPCG(3, 0))
	for range 30 {
		from := random.IntN(len(content))
		p := make([]byte, 1+random.IntN(2*batch))
		n, err := r.ReadAt(p, int64(from))
		if want := content[from:min(from+len(p), len(content))]; !bytes.Equal(p[:n], want) || (err == io.EOF) != (n < len(p)) || err != nil && err != io.EOF {
			t.Fatalf("ReadAt %d bytes from %d: %d, %v", len(p), from, n, err)
		}
		must[int64](t)(r.Seek(int64(from), io.SeekStart))
		p = p[:min(len(p), len(content)-from)]
		must[int](t)(io.ReadFull(r, p))
		if !bytes.Equal(p, content[from:from+len(p)]) {
			t.Fatalf("Read of %d bytes from %d: others", len(p), from)
		}
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek to -1")
	}
	if end := must[int64](t)(r.Seek(0, io.SeekEnd)); end != b.Size {
		t.Errorf("the end is %d, want %d", end, b.Size)
	}
}

// TestBlobBelongsToOneRecord: what cannot be attached is refused with its reason, and nothing is written.
func TestBlobBelongsToOneRecord(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s, other := blobs.PageStoreOf(db, "b"), blobs.PageStoreOf(db, "other")
	used, foreign, ready := upload(t, s, contentOf(10, 1)), upload(t, other, []byte("foreign")), upload(t, s, []byte("ready"))
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: used}))
	half := persistable.BlobsOf(s).New(ctx)
	must[int](t)(half.Write([]byte("half")))
	check(t, half.Close())
	var incomplete persistable.Blob
	check(t, incomplete.UnmarshalText([]byte(half.ID()+"-4-"+strings.Repeat("00", 32))))
	longer, usedLonger := ready, used
	longer.Size++
	usedLonger.Size++
	for _, tc := range []struct {
		name string
		blob persistable.Blob
		want error
		text string
	}{
		{"attached", used, persistable.ErrBlobAttached, "is attached to the Page (1)"},
		{"of another store", foreign, persistable.ErrNoBlob, "is not in this store"},
		{"incomplete", incomplete, persistable.ErrNoBlob, "is not complete"},
		{"another size", longer, persistable.ErrNoBlob, "another size"},
		{"unknown", persistable.Blob{ID: [16]byte{1}}, persistable.ErrNoBlob, "is not in this store"},
	} {
		err := s.Create(ctx, &blobs.Page{ID: 2, Book: "b", Audio: tc.blob})
		var field *persistable.FieldError
		if !errors.Is(err, tc.want) || !errors.As(err, &field) || field.Field != "Audio" || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if must[bool](t)(s.Exists(ctx, 2)) {
			t.Errorf("%s: the record was written", tc.name)
		}
	}
	if err := s.Save(ctx, &blobs.Page{ID: 1, Book: "b", Scan: usedLonger}); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("the same content with another size: %v", err)
	}
	err := s.CreateMany(ctx, []*blobs.Page{{ID: 3, Book: "b", Scan: ready}, {ID: 4, Book: "b", Scan: ready}}, persistable.BatchOptions{})
	var part *persistable.PartialError
	if !errors.As(err, &part) || part.Done != 1 || !errors.Is(err, persistable.ErrBlobAttached) {
		t.Errorf("a batch with one content twice: %v", err)
	}
	if err := s.Create(ctx, &blobs.Page{ID: 5, Book: "b", Scan: ready}); !errors.Is(err, persistable.ErrBlobAttached) {
		t.Errorf("what a batch has attached: %v", err)
	}
	sound(t, s.Indexes().Verify)
}

// TestBlobMoves: a content may go from a field of a record to another one; the fields of a
// record that is saved again, or changed elsewhere, keep theirs.
func TestBlobMoves(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := blobs.PageStoreOf(db, "b")
	page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("scan")), Audio: upload(t, s, []byte("audio"))}
	check(t, s.Create(ctx, page))
	check(t, s.Update(ctx, 1, func(p *blobs.Page) error { p.Scan, p.Audio = p.Audio, p.Scan; return nil }))
	check(t, s.Update(ctx, 1, func(p *blobs.Page) error { p.Title = "one"; return nil }))
	now := must[*blobs.Page](t)(s.Get(ctx, 1))
	if string(download(t, s, now.Scan))+string(download(t, s, now.Audio)) != "audioscan" {
		t.Error("the contents have not changed places")
	}
	check(t, s.Update(ctx, 1, func(p *blobs.Page) error { p.Scan = persistable.Blob{}; return nil }))
	if contents, _ := blobKeys(t, db, "b"); len(contents) != 2 {
		t.Errorf("%d keys, want those of one content", len(contents))
	}
	// In one transaction a record is created, gets another content, and is deleted.
	a, b := upload(t, s, []byte("a")), upload(t, s, []byte("b"))
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		in := s.In(tx)
		return errors.Join(in.Save(ctx, &blobs.Page{ID: 2, Book: "b", Scan: a}), in.Save(ctx, &blobs.Page{ID: 2, Book: "b", Scan: b}), in.Delete(ctx, 2))
	}))
	must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{}))
	if contents, uploads := blobKeys(t, db, "b"); len(contents)+len(uploads) > 0 {
		t.Errorf("there are left %q %q", contents, uploads)
	}
}

// TestBlobTexts: a reference comes back from JSON, and what is none is refused.
func TestBlobTexts(t *testing.T) {
	in := blobs.Page{Scan: persistable.Blob{ID: [16]byte{0xab, 2}, Size: 1 << 40, SHA256: [32]byte{3}}}
	text := must[[]byte](t)(json.Marshal(in))
	var out blobs.Page
	check(t, json.Unmarshal(text, &out))
	if out != in {
		t.Errorf("%s comes back as %+v", text, out)
	}
	valid := in.Scan.String()
	for _, text := range []string{"x", valid + "-", valid[1:], "-" + valid, strings.ToUpper(valid), strings.Replace(valid, "-1", "-01", 1), strings.Replace(valid, "-1", "--1", 1)} {
		var b persistable.Blob
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, b)
		}
	}
	stored := must[[]byte](t)(in.Scan.MarshalBinary())
	for i := range stored {
		var b persistable.Blob
		if err := b.UnmarshalBinary(stored[:i]); i > 0 && err == nil {
			t.Errorf("the first %d bytes are %v", i, b)
		}
	}
	var b persistable.Blob
	if err := b.UnmarshalBinary(append(stored, 0)); err == nil {
		t.Error("a byte too many")
	}
}

// TestBlobCosts: a record that does not change its contents costs what it costs without them; one
// that does costs one round of reads more.
func TestBlobCosts(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	s := blobs.PageStoreOf(db, "b")
	page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("a"))}
	check(t, s.Create(ctx, page))
	next := upload(t, s, []byte("b"))
	for _, tc := range []struct {
		name string
		run  func() error
		want int64
	}{
		{"another title", func() error { page.Title = "one"; return s.Save(ctx, page) }, 1},
		{"another content", func() error { page.Scan = next; return s.Save(ctx, page) }, 2},
		{"delete", func() error { return s.Delete(ctx, 1) }, 1},
	} {
		cost, err := counter.Measure(tc.run)
		check(t, err)
		if int64(cost.Rounds) != tc.want {
			t.Errorf("%s: %v, want %d rounds", tc.name, cost, tc.want)
		}
	}
}

// TestBlobInTransaction: a content is read in the transaction of the store, and written in none.
func TestBlobInTransaction(t *testing.T) {
	engine := enginetest.Open(t)
	db, other := open(t, engine), open(t, engine)
	s := blobs.PageStoreOf(db, "b")
	page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, contentOf(3*chunk, 1))}
	check(t, s.Create(ctx, page))
	check(t, db.ReadTransact(ctx, func(tx persistable.Tx) error {
		must[bool](t)(s.In(tx).Exists(ctx, 1)) // has the version
		//persistvet:ignore outsidetx another program deletes it while the transaction reads
		check(t, blobs.PageStoreOf(other, "b").Delete(ctx, 1))
		got, err := io.ReadAll(persistable.BlobsOf(s.In(tx)).Open(ctx, page.Scan))
		if len(got) != 3*chunk {
			t.Errorf("%d bytes at the version of the transaction: %v", len(got), err)
		}
		return err
	}))
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		_, err := persistable.BlobsOf(s.In(tx)).New(ctx).Commit()
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "several transactions") {
		t.Errorf("a content in a transaction: %v", err)
	}
	if _, err := persistable.BlobsOf(ArtStoreOf(db)).New(ctx).Commit(); err == nil || !strings.Contains(err.Error(), "no field of type persistable.Blob") {
		t.Errorf("a content of a type without blobs: %v", err)
	}
	if _, err := persistable.BlobsOf(new(blobs.PageStore)).New(ctx).Commit(); err == nil {
		t.Error("a content of the zero store")
	}
	if _, err := persistable.BlobsOf(s).Open(ctx, persistable.Blob{}).Read(make([]byte, 1)); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("the zero Blob: %v", err)
	}
}

// TestRemovedEmptyContent: an empty content is there as long as its record, or its upload.
func TestRemovedEmptyContent(t *testing.T) {
	s := blobs.PageStoreOf(open(t, enginetest.Open(t)), "b")
	empty := upload(t, s, nil)
	want := func(when string, want error) {
		t.Helper()
		r := persistable.BlobsOf(s).Open(ctx, empty)
		_, err := r.Read(make([]byte, 1))
		_, at := r.ReadAt(make([]byte, 1), 7)
		if !errors.Is(err, want) || !errors.Is(at, want) {
			t.Errorf("%s: Read: %v, ReadAt: %v", when, err, at)
		}
	}
	want("an upload", io.EOF)
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: empty}))
	want("of a record", io.EOF)
	check(t, s.Delete(ctx, 1))
	want("of a record that was deleted", persistable.ErrNoBlob)
}

// TestVerifyReadsFewChunksAtATime: a transaction of a verification reads no more of contents than of records.
func TestVerifyReadsFewChunksAtATime(t *testing.T) {
	engine := enginetest.Open(t)
	s := blobs.PageStoreOf(open(t, engine), "b")
	for i := range int64(100) {
		check(t, s.Create(ctx, &blobs.Page{ID: i + 1, Book: "b", Scan: upload(t, s, contentOf(chunk, uint64(i)))}))
	}
	counted := &countedReads{Database: engine}
	sound(t, blobs.PageStoreOf(open(t, counted), "b").Indexes().Verify)
	if n := counted.transactions.Load(); n < 4 {
		t.Errorf("Verify reads %d kB of contents in %d transactions", 100*chunk/1000, n)
	}
}

// countedReads counts the transactions that read.
type countedReads struct {
	kv.Database
	transactions atomic.Int64
}

func (c *countedReads) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	c.transactions.Add(1)
	return c.Database.ReadTransact(ctx, fn)
}
