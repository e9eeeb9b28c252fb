// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

// mortal is an engine of a process that is killed at a commit, before it or after it took effect.
type mortal struct {
	kv.Database

	left  int  // commits before that
	lands bool // the last commit takes effect
	dead  atomic.Bool
}

var errKilled = errors.New("the process was killed")

func (m *mortal) Begin() (kv.Transaction, error) {
	if m.dead.Load() {
		return nil, errKilled
	}
	tx, err := m.Database.Begin()
	return &mortalTx{tx, m}, err
}

func (m *mortal) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := m.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (m *mortal) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.Database.ReadTransact(ctx, fn)
}

type mortalTx struct {
	kv.Transaction
	m *mortal
}

func (t *mortalTx) Commit(ctx context.Context) error {
	t.m.left--
	if t.m.left > 0 || t.m.dead.Load() {
		return t.Transaction.Commit(ctx)
	}
	t.m.dead.Store(true)
	if t.m.lands {
		if err := t.Transaction.Commit(ctx); err != nil {
			return err
		}
	}
	return errKilled
}

// blobModel is what the records of a store must refer to: by the ID of the page, its contents.
type blobModel struct {
	*testing.T
	*rand.Rand
	engine kv.Database
	db     *persistable.DB             // that compares
	pages  map[int64]map[string][]byte // by the field; fields without content are not there
	n      uint64                      // contents
}

// TestBlobsAgainstAMap runs random writes of processes that are killed at random commits. Each next process resumes the
// upload of the one before. The contents are those of a map, and no key is left over.
func TestBlobsAgainstAMap(t *testing.T) {
	for _, s := range seed.Series(t, 4) {
		for name, wrap := range map[string]func(kv.Database) kv.Database{
			"plain":   func(db kv.Database) kv.Database { return db },
			"hostile": func(db kv.Database) kv.Database { return faults.Hostile(db, faults.Options{Seed: s, MaxDelay: -1}) },
		} {
			t.Run(fmt.Sprint(name, " ", s), func(t *testing.T) {
				engine := wrap(enginetest.Open(t))
				m := &blobModel{T: t, Rand: rand.New(rand.NewPCG(s, 1)), engine: engine, db: open(t, engine), pages: map[int64]map[string][]byte{}}
				for range 25 {
					m.step()
					m.compare()
				}
			})
		}
	}
}

// step is an operation of a process that may be killed, and what the next process does after it.
func (m *blobModel) step() {
	id := 1 + m.Int64N(3)
	switch m.IntN(5) {
	case 0:
		m.remove(id)
	default:
		m.put(id)
	}
}

// run runs an operation in a process, which is killed at one of its first commits or at none. It reports whether the
// process has survived.
func (m *blobModel) run(fn func(s *blobs.PageStore) error) bool {
	process := &mortal{Database: m.engine, left: 1 + m.IntN(6), lands: m.IntN(2) == 0}
	db, err := persistable.Open(ctx, process, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err == nil {
		err = fn(blobs.PageStoreOf(db, "b"))
		_ = db.Close() // a process that is killed closes nothing
	}
	if err != nil && !errors.Is(err, errKilled) {
		m.Fatal(err)
	}
	return err == nil
}

func (m *blobModel) remove(id int64) {
	for !m.run(func(s *blobs.PageStore) error { return s.Delete(ctx, id) }) {
	}
	delete(m.pages, id)
}

// put gives a page another content in one field, and perhaps the same one as before in the other.
func (m *blobModel) put(id int64) {
	m.n++
	content := contentOf(m.IntN(2*batch), m.n)
	field := []string{"scan", "audio"}[m.IntN(2)]
	b := m.upload(content)
	for !m.run(func(s *blobs.PageStore) error { return attach(s, id, field, b) }) {
	}
	if m.pages[id] == nil {
		m.pages[id] = map[string][]byte{}
	}
	m.pages[id][field] = content
}

// upload writes a content, in as many processes as it takes.
func (m *blobModel) upload(content []byte) (b persistable.Blob) {
	id := ""
	for !m.run(func(s *blobs.PageStore) error {
		w := persistable.BlobsOf(s).New(ctx)
		if id != "" {
			if next, err := persistable.BlobsOf(s).Resume(ctx, id); err == nil {
				w = next
			} else if !errors.Is(err, persistable.ErrNoBlob) {
				return err
			}
		}
		id = w.ID()
		for w.Size() < int64(len(content)) {
			if _, err := w.Write(content[w.Size():min(int(w.Size())+1+m.IntN(batch), len(content))]); err != nil {
				return err
			}
			if m.IntN(3) == 0 {
				if err := w.Close(); err != nil {
					return err
				}
			}
		}
		var err error
		b, err = w.Commit()
		return err
	}) {
	}
	return b
}

// attach gives a page a content, and makes the page if it is not there.
func attach(s *blobs.PageStore, id int64, field string, b persistable.Blob) error {
	set := func(p *blobs.Page) error {
		if field == "scan" {
			p.Scan = b
		} else {
			p.Audio = b
		}
		return nil
	}
	err := s.Update(ctx, id, set)
	if !errors.Is(err, persistable.ErrNotFound) {
		return err
	}
	p := &blobs.Page{ID: id, Book: "b"}
	_ = set(p)
	return s.Create(ctx, p)
}

// compare compares what is stored with the map, and looks for keys that belong to nothing.
func (m *blobModel) compare() {
	m.Helper()
	s := blobs.PageStoreOf(m.db, "b")
	must[int](m)(persistable.BlobsOf(s).RemoveUploads(ctx, 0))
	want := 0
	for p, err := range s.Scan().All(ctx) {
		check(m, err)
		want += checkPage(m, s, p, m.pages[p.ID])
	}
	if n := must[int](m)(countPages(s)); n != len(m.pages) {
		m.Fatalf("%d pages, want %v", n, slices.Collect(maps.Keys(m.pages)))
	}
	if len(m.pages) == 0 {
		return
	}
	contents, uploads := blobKeys(m, m.db, "b")
	if len(contents) != want || len(uploads) != 0 {
		m.Fatalf("%d keys of contents, want %d; %d of uploads", len(contents), want, len(uploads))
	}
	sound(m, s.Indexes().Verify)
}

func countPages(s *blobs.PageStore) (n int, err error) {
	for _, err := range s.Scan().All(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// checkPage compares the contents of a page, and returns how many keys they have.
func checkPage(t testing.TB, s *blobs.PageStore, p *blobs.Page, want map[string][]byte) (keys int) {
	t.Helper()
	for field, b := range map[string]persistable.Blob{"scan": p.Scan, "audio": p.Audio} {
		content, has := want[field]
		if b.IsZero() == has {
			t.Fatalf("the %s of %d is %v, want %d bytes", field, p.ID, b, len(content))
		}
		if !has {
			continue
		}
		if !bytes.Equal(download(t, s, b), content) {
			t.Fatalf("the %s of %d, %s, is another content", field, p.ID, hex.EncodeToString(b.ID[:]))
		}
		keys += 1 + (len(content)+chunk-1)/chunk
	}
	return keys
}

// TestConcurrentBlobs: goroutines attach, replace, remove and read contents of the same records. Each record has at the end the content
// that it refers to, and every content that is refused is refused for a reason.
func TestConcurrentBlobs(t *testing.T) {
	random := seed.Rand(t)
	db := open(t, faults.Hostile(enginetest.Open(t), faults.Options{Seed: random.Uint64(), MaxDelay: -1}))
	s := blobs.PageStoreOf(db, "b")
	shared := upload(t, s, []byte("shared")) // which only one can get
	var attached atomic.Int64
	var wait sync.WaitGroup
	for g := range 6 {
		r := rand.New(rand.NewPCG(random.Uint64(), uint64(g)))
		wait.Go(func() {
			for i := range 12 {
				id := 1 + r.Int64N(3)
				switch r.IntN(5) {
				case 0:
					check(t, s.Delete(ctx, id))
				case 1:
					readAny(t, s, id)
				case 2:
					// The one that got it may lose it at once; then it is gone.
					if err := attach(s, 10+int64(g), "audio", shared); err == nil {
						attached.Add(1)
					} else if !errors.Is(err, persistable.ErrBlobAttached) && !errors.Is(err, persistable.ErrNoBlob) {
						t.Error(err)
					}
				default:
					// After a lost acknowledgement, another one may have replaced the content already.
					b := upload(t, s, fmt.Appendf(nil, "%d of %d", i, g))
					if err := attach(s, id, "scan", b); err != nil && !errors.Is(err, persistable.ErrExists) && !errors.Is(err, persistable.ErrNoBlob) {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	owners := 0
	for p, err := range s.Scan().All(ctx) {
		check(t, err)
		for _, b := range []persistable.Blob{p.Scan, p.Audio} {
			if !b.IsZero() {
				download(t, s, b)
			}
		}
		if !p.Audio.IsZero() {
			owners++
		}
	}
	if owners > 1 || attached.Load() > 0 != (owners == 1) {
		t.Errorf("%d records have the content that one can have, and %d attached it", owners, attached.Load())
	}
	sound(t, s.Indexes().Verify)
}

// readAny reads the content of a record that others may remove.
func readAny(t testing.TB, s *blobs.PageStore, id int64) {
	p, err := s.Get(ctx, id)
	if errors.Is(err, persistable.ErrNotFound) {
		return
	}
	check(t, err)
	if p.Scan.IsZero() {
		return
	}
	if _, err := io.Copy(io.Discard, persistable.BlobsOf(s).Open(ctx, p.Scan)); err != nil && !errors.Is(err, persistable.ErrNoBlob) {
		t.Error(err)
	}
}
