// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

// TestUploadIsResumed: an upload goes on where it was stored last, in another process and by other pieces.
func TestUploadIsResumed(t *testing.T) {
	engine := enginetest.Open(t)
	content := contentOf(3*batch+100, 1)
	s := blobs.PageStoreOf(open(t, engine), "b")
	w := persistable.BlobsOf(s).New(ctx)
	if _, err := persistable.BlobsOf(s).Resume(ctx, w.ID()); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("an upload of which nothing is stored: %v", err)
	}
	must[int](t)(w.Write(content[:batch+5])) // and the process is killed
	for _, n := range []int{batch + chunk + 1, batch + chunk + 2, batch + 3*chunk, 2*batch + 7} {
		s := blobs.PageStoreOf(open(t, engine), "b")
		next := must[*persistable.BlobWriter](t)(persistable.BlobsOf(s).Resume(ctx, w.ID()))
		must[int](t)(next.Write(content[next.Size():n]))
		check(t, next.Close())
		if next.Size() != int64(n) {
			t.Fatalf("%d bytes, want %d", next.Size(), n)
		}
	}
	if _, err := w.Write(content); err == nil || !strings.Contains(err.Error(), "another writer") {
		t.Errorf("the writer that was left behind: %v", err)
	}
	if err := w.Close(); err == nil {
		t.Error("a writer that has failed is closed without an error")
	}
	last := must[*persistable.BlobWriter](t)(persistable.BlobsOf(s).Resume(ctx, w.ID()))
	must[int](t)(last.Write(content[last.Size():]))
	b := must[persistable.Blob](t)(last.Commit())
	if !bytes.Equal(download(t, s, b), content) {
		t.Error("the content is another one")
	}
	again := must[*persistable.BlobWriter](t)(persistable.BlobsOf(s).Resume(ctx, w.ID()))
	if got := must[persistable.Blob](t)(again.Commit()); got != b {
		t.Errorf("Commit once more: %v, want %v", got, b)
	}
	if _, err := again.Write([]byte("more")); err == nil {
		t.Error("a content that is committed takes more")
	}
	check(t, last.Close())
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: b}))
	if _, err := persistable.BlobsOf(s).Resume(ctx, w.ID()); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("an upload that is attached: %v", err)
	}
	for _, id := range []string{"", "x", w.ID() + "00", w.ID()[2:]} {
		if _, err := persistable.BlobsOf(s).Resume(ctx, id); err == nil || errors.Is(err, persistable.ErrNoBlob) {
			t.Errorf("Resume of %q: %v", id, err)
		}
	}
}

// TestUploadWithoutAcknowledgements: each commit is lost, whether it took effect or not, and no byte is lost
// or twice there.
func TestUploadWithoutAcknowledgements(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		lossy := &enginetest.Lossy{Database: enginetest.Open(t)}
		s := blobs.PageStoreOf(open(t, lossy), "b")
		content := contentOf(2*batch+chunk+1, 1)
		w := persistable.BlobsOf(s).New(ctx)
		for part := range slices.Chunk(content, batch) {
			lossy.Lose(dropped, nil)
			must[int](t)(w.Write(part))
		}
		lossy.Lose(dropped, nil)
		check(t, w.Close())
		lossy.Lose(dropped, nil)
		b := must[persistable.Blob](t)(w.Commit())
		lossy.Lose(dropped, nil)
		check(t, s.Save(ctx, &blobs.Page{ID: 1, Book: "b", Scan: b}))
		if !bytes.Equal(download(t, s, b), content) {
			t.Errorf("dropped %v: the content is another one", dropped)
		}
		next := upload(t, s, []byte("next"))
		lossy.Lose(dropped, nil)
		check(t, s.Update(ctx, 1, func(p *blobs.Page) error { p.Scan = next; return nil }))
		if got := string(download(t, s, next)); got != "next" {
			t.Errorf("dropped %v: the content is %q", dropped, got)
		}
		sound(t, s.Indexes().Verify)
	}
}

// TestUploadAttachedBeforeItsRetry: between a lost acknowledgement of the first write and its retry, another writer
// goes on with the upload, and a record gets it. The retry brings no upload back of which RemoveUploads would remove
// the content.
func TestUploadAttachedBeforeItsRetry(t *testing.T) {
	engine := enginetest.Open(t)
	lossy := &enginetest.Lossy{Database: engine}
	s, other := blobs.PageStoreOf(open(t, lossy), "b"), blobs.PageStoreOf(open(t, engine), "b")
	w := persistable.BlobsOf(s).New(ctx)
	must[int](t)(w.Write([]byte("content")))
	var b persistable.Blob
	lossy.Lose(false, func() error {
		again, err := persistable.BlobsOf(other).Resume(ctx, w.ID())
		if err != nil {
			return err
		}
		if b, err = again.Commit(); err != nil {
			return err
		}
		return other.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: b})
	})
	if _, err := w.Commit(); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("a writer of a content that is attached: %v", err)
	}
	if n := must[int](t)(persistable.BlobsOf(other).RemoveUploads(ctx, 0)); n != 0 {
		t.Errorf("%d uploads were left", n)
	}
	if got := string(download(t, other, b)); got != "content" {
		t.Errorf("the content is %q", got)
	}
}

// TestWholeBlobIsCompared: a chunk that was replaced by a sound one is noticed when the whole is read, even if the
// caller does not read past its end, as http.ServeContent does not.
func TestWholeBlobIsCompared(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := blobs.PageStoreOf(db, "b")
	b := upload(t, s, contentOf(2*chunk, 1))
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: b}))
	keys := format.NewBlobKeys(prefixOf(t, db, "books", "b", "pages"), "Page")
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		tx.Set(keys.Chunk(b.ID, 1), format.AppendBlobChunk(nil, b.ID, 1, contentOf(chunk, 2)))
		return nil
	}))
	var damaged *persistable.RecordError
	if _, err := io.ReadAll(persistable.BlobsOf(s).Open(ctx, b)); !errors.As(err, &damaged) {
		t.Errorf("ReadAll: %v", err)
	}
	if _, err := io.CopyN(io.Discard, persistable.BlobsOf(s).Open(ctx, b), 2*chunk); !errors.As(err, &damaged) {
		t.Errorf("CopyN: %v", err)
	}
}

// TestBlobOfAnySize: a size that no content has reads nothing, and does not panic.
func TestBlobOfAnySize(t *testing.T) {
	s := blobs.PageStoreOf(open(t, enginetest.Open(t)), "b")
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("x"))}))
	var b persistable.Blob
	check(t, b.UnmarshalText([]byte(strings.Repeat("0", 31)+"1-9223372036854775807-"+strings.Repeat("0", 63)+"1")))
	r := persistable.BlobsOf(s).Open(ctx, b)
	if _, err := r.Read(make([]byte, 10)); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("Read: %v", err)
	}
	if _, err := r.ReadAt(make([]byte, 10), 1<<40); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("ReadAt: %v", err)
	}
}

// TestUploadOnAHostileEngine writes, reads and removes where every transaction fails.
func TestUploadOnAHostileEngine(t *testing.T) {
	db := open(t, faults.HostileT(t, enginetest.Open(t)))
	s := blobs.PageStoreOf(db, "b")
	content := contentOf(2*batch+chunk+1, 1)
	b := upload(t, s, content)
	check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: b}))
	if !bytes.Equal(download(t, s, b), content) {
		t.Error("the content is another one")
	}
	check(t, s.Delete(ctx, 1))
	upload(t, s, content[:10])
	if n := must[int](t)(persistable.BlobsOf(s).RemoveUploads(ctx, 0)); n != 1 {
		t.Errorf("%d uploads were removed", n)
	}
	if contents, uploads := blobKeys(t, db, "b"); len(contents)+len(uploads) > 0 {
		t.Errorf("there are left %q %q", contents, uploads)
	}
}

// TestUploadsAreRemoved: only those that are as old as asked for, and none that is attached.
func TestUploadsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, enginetest.InProcess(t))
		s := blobs.PageStoreOf(db, "b")
		b := persistable.BlobsOf(s)
		check(t, s.Create(ctx, &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, []byte("attached"))}))
		old, goesOn := upload(t, s, []byte("old")), b.New(ctx)
		must[int](t)(goesOn.Write(contentOf(batch, 1)))
		time.Sleep(time.Hour)
		must[int](t)(goesOn.Write([]byte("more")))
		check(t, goesOn.Close())
		fresh := upload(t, s, []byte("fresh"))
		if n := must[int](t)(b.RemoveUploads(ctx, time.Hour)); n != 1 {
			t.Errorf("%d were removed, want the old one", n)
		}
		got := map[string]persistable.Blob{}
		for u, err := range b.Uploads(ctx, 0) {
			check(t, err)
			got[hex.EncodeToString(u.ID[:])] = u
		}
		if u := got[goesOn.ID()]; len(got) != 2 || u.Size != batch+4 || u.SHA256 != [32]byte{} {
			t.Errorf("the uploads are %v", got)
		}
		if u := got[hex.EncodeToString(fresh.ID[:])]; u != fresh {
			t.Errorf("the uploads are %v, want %v among them", got, fresh)
		}
		for u := range b.Uploads(ctx, time.Minute) {
			t.Errorf("%v is not that old", u)
		}
		if err := s.Create(ctx, &blobs.Page{ID: 2, Book: "b", Scan: old}); !errors.Is(err, persistable.ErrNoBlob) {
			t.Errorf("what was removed: %v", err)
		}
		must[int](t)(b.RemoveUploads(ctx, 0))
		must[int](t)(goesOn.Write([]byte("more")))
		if err := goesOn.Close(); !errors.Is(err, persistable.ErrNoBlob) {
			t.Errorf("a writer of what was removed: %v", err)
		}
		if contents, uploads := blobKeys(t, db, "b"); len(contents) != 2 || len(uploads) != 0 {
			t.Errorf("%d keys of contents, want those that are attached; %d of uploads", len(contents), len(uploads))
		}
		if _, err := b.RemoveUploads(ctx, -1); err == nil {
			t.Error("a negative time")
		}
	})
}

// TestUploadGoesOnDuringItsRemoval: an upload to which bytes are added after it was listed stays.
func TestUploadGoesOnDuringItsRemoval(t *testing.T) {
	engine := enginetest.Open(t)
	lossy := &enginetest.Lossy{Database: engine}
	s := blobs.PageStoreOf(open(t, engine), "b")
	w := persistable.BlobsOf(s).New(ctx)
	must[int](t)(w.Write([]byte("half")))
	check(t, w.Close())
	db := open(t, lossy)
	lossy.Lose(true, func() error {
		must[int](t)(w.Write([]byte(" and half")))
		return w.Close()
	})
	if n := must[int](t)(persistable.BlobsOf(blobs.PageStoreOf(db, "b")).RemoveUploads(ctx, 0)); n != 0 {
		t.Errorf("%d uploads were removed", n)
	}
	if got := string(download(t, s, must[persistable.Blob](t)(w.Commit()))); got != "half and half" {
		t.Errorf("the content is %q", got)
	}
}

// TestManyUploads: all pages of uploads are seen, and removed.
func TestManyUploads(t *testing.T) {
	s := blobs.PageStoreOf(open(t, enginetest.Open(t)), "b")
	for range 205 {
		upload(t, s, nil)
	}
	n := 0
	for _, err := range persistable.BlobsOf(s).Uploads(ctx, 0) {
		check(t, err)
		n++
	}
	if removed := must[int](t)(persistable.BlobsOf(s).RemoveUploads(ctx, 0)); n != 205 || removed != n {
		t.Errorf("%d are seen, %d removed", n, removed)
	}
}

// TestLargeBlob: a large content takes transactions of at most a megabyte, and the writer and the reader hold
// as much.
func TestLargeBlob(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	s := blobs.PageStoreOf(open(t, counter), "b")
	const size = 24 << 20
	part := contentOf(1<<20, 1)
	parts := func() io.Reader {
		var all []io.Reader
		for range size / len(part) {
			all = append(all, bytes.NewReader(part))
		}
		return io.MultiReader(all...)
	}
	w := persistable.BlobsOf(s).New(ctx)
	largest := 0
	for range size / len(part) {
		before := counter.Counts()
		must[int](t)(w.Write(part))
		if commits := counter.Counts().Commits - before.Commits; commits > 2 {
			t.Fatalf("%d commits for a megabyte", commits)
		}
		largest = max(largest, reflect.ValueOf(w).Elem().FieldByName("buffer").Cap())
	}
	b := must[persistable.Blob](t)(w.Commit())
	r := persistable.BlobsOf(s).Open(ctx, b)
	want, got, p := parts(), make([]byte, 1<<20), make([]byte, 1<<20)
	for n := 0; n < size; n += len(got) {
		must[int](t)(io.ReadFull(want, p))
		must[int](t)(io.ReadFull(r, got))
		if !bytes.Equal(got, p) {
			t.Fatalf("other bytes from %d on", n)
		}
		largest = max(largest, reflect.ValueOf(r).Elem().FieldByName("buffer").Cap())
	}
	if _, err := r.Read(got); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if largest > 1<<20 {
		t.Errorf("a buffer of %d bytes", largest)
	}
}

// TestDamagedBlobs: no wrong byte is read, and Verify finds what is missing.
func TestDamagedBlobs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob)
		read   int    // bytes that are right
		verify string // what Verify says
	}{
		{"a byte", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) {
			value := must[[]byte](t)(tx.Get(keys.Chunk(b.ID, 1)).Get(ctx))
			value = bytes.Clone(value)
			value[100] ^= 1
			tx.Set(keys.Chunk(b.ID, 1), value)
		}, chunk, ""},
		{"chunks in another order", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) {
			one := must[[]byte](t)(tx.Get(keys.Chunk(b.ID, 0)).Get(ctx))
			two := must[[]byte](t)(tx.Get(keys.Chunk(b.ID, 1)).Get(ctx))
			tx.Set(keys.Chunk(b.ID, 0), two)
			tx.Set(keys.Chunk(b.ID, 1), one)
		}, 0, ""},
		{"a short chunk", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) {
			tx.Set(keys.Chunk(b.ID, 1), format.AppendBlobChunk(nil, b.ID, 1, []byte("short")))
		}, chunk, ""},
		{"another chunk with its checksum", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) {
			tx.Set(keys.Chunk(b.ID, 1), format.AppendBlobChunk(nil, b.ID, 1, make([]byte, chunk)))
		}, -1, ""},
		{"no chunk", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) { tx.Clear(keys.Chunk(b.ID, 1)) }, chunk, ""},
		{"no last chunk", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) { tx.Clear(keys.Chunk(b.ID, 2)) }, chunk, "its last chunk is missing"},
		{"no head", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) { tx.Clear(keys.Head(b.ID)) }, -2, "is not there"},
		{"another owner", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) {
			tx.Set(keys.Head(b.ID), format.BlobHead{Owner: []byte{0x15, 9}, Blob: format.Blob(b)}.Encode())
		}, -2, "belongs to the record (9)"},
		{"nothing", func(tx kv.Transaction, keys format.BlobKeys, b persistable.Blob) { tx.ClearRange(keys.Content(b.ID)) }, 0, "is not there"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			s := blobs.PageStoreOf(db, "b")
			content := contentOf(2*chunk+10, 1)
			page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, content)}
			check(t, s.Create(ctx, page))
			keys := format.NewBlobKeys(prefixOf(t, db, "books", "b", "pages"), "Page")
			write(t, db, func(tx kv.Transaction) { tc.damage(tx, keys, page.Scan) })
			got, err := io.ReadAll(persistable.BlobsOf(s).Open(ctx, page.Scan))
			var damage *persistable.RecordError
			switch {
			case tc.read == -2:
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("the content is whole, and read as %d bytes: %v", len(got), err)
				}
			case tc.name == "nothing":
				if !errors.Is(err, persistable.ErrNoBlob) {
					t.Errorf("%v, want an ErrNoBlob", err)
				}
			case !errors.As(err, &damage) || errors.Is(err, persistable.ErrNoBlob):
				t.Errorf("%d bytes, %v; want a RecordError", len(got), err)
			case tc.read >= 0 && (len(got) > tc.read || !bytes.Equal(got, content[:len(got)])):
				t.Errorf("%d bytes before %v", len(got), err)
			}
			r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
			if tc.verify == "" && len(r.Faults) > 0 || tc.verify != "" && (len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Reason, tc.verify)) {
				t.Errorf("Verify says %v, want %q", r.Faults, tc.verify)
			}
		})
	}
}

// TestBlobIsRemovedWhileItIsRead: the reader says so, and returns nothing else.
func TestBlobIsRemovedWhileItIsRead(t *testing.T) {
	s := blobs.PageStoreOf(open(t, enginetest.Open(t)), "b")
	content := contentOf(batch, 1)
	page := &blobs.Page{ID: 1, Book: "b", Scan: upload(t, s, content)}
	check(t, s.Create(ctx, page))
	r := persistable.BlobsOf(s).Open(ctx, page.Scan)
	must[int](t)(io.ReadFull(r, make([]byte, 10)))
	check(t, s.Delete(ctx, 1))
	rest, err := io.ReadAll(r)
	if !errors.Is(err, persistable.ErrNoBlob) || !bytes.Equal(rest, content[10:10+len(rest)]) {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	if _, err := r.ReadAt(make([]byte, 1), chunk); !errors.Is(err, persistable.ErrNoBlob) {
		t.Errorf("ReadAt: %v", err)
	}
}
