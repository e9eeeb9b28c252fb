// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func withCancel() (context.Context, func()) { return context.WithCancel(ctx) }

// shop fills a tenant with all kinds of contents.
func shop(t testing.TB, db *persistable.DB) {
	someOrders(t, db, "a", 15)
	programKeys(t, db, "tenants", "a")
}

func export(t testing.TB, set *tenants.Set, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	p := must[tenants.Progress](t)(set.Export(ctx, name, &b, tenants.ExportOptions{}))
	if p.Offset != int64(b.Len()) {
		t.Errorf("the offset is %d, the stream has %d bytes", p.Offset, b.Len())
	}
	return b.Bytes()
}

// A tenant goes from one database to another one, under its name or another, with the
// same bytes.
func TestExportAndImport(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		shop(t, db)
		stream := locked(t, tenants.Of(db, "tenants"), "a")
		other := open(t, faults.HostileT(t, enginetest.Open(t)))
		someOrders(t, other, "already there", 3) // its directories have other prefixes
		all := tenants.Of(other, "tenants")
		for _, name := range []string{"a", "b", "c/.."} {
			p := must[tenants.Progress](t)(all.Import(ctx, name, bytes.NewReader(stream), tenants.ImportOptions{}))
			equal(t, contents(t, db, "tenants", "a"), contents(t, other, "tenants", name))
			if p.Offset < int64(len(stream))-100 || p.Pairs == 0 {
				t.Errorf("%+v", p)
			}
			s := OrderStoreOf(other, name)
			o := must[*Order](t)(s.ByNumber(ctx, "0007"))
			if o.TenantID != name {
				t.Errorf("the record belongs to %q", o.TenantID)
			}
			o.Number = "changed"
			check(t, s.Save(ctx, o))
			sound(t, s.Indexes().Verify)
		}
		wantError(t, second(all.Import(ctx, "a", bytes.NewReader(stream), tenants.ImportOptions{})), tenants.ErrExists)
	})
}

// locked exports a tenant under a lock.
func locked(t testing.TB, set *tenants.Set, name string) []byte {
	t.Helper()
	lock := must[tenants.Lock](t)(set.Lock(ctx, name, "export"))
	var b bytes.Buffer
	must[tenants.Progress](t)(set.Export(ctx, name, &b, tenants.ExportOptions{Lock: lock}))
	check(t, set.Unlock(ctx, lock))
	return b.Bytes()
}

func TestInspect(t *testing.T) {
	db := open(t, enginetest.Open(t))
	shop(t, db)
	stream := export(t, tenants.Of(db, "tenants"), "a")
	s := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(stream)))
	if !s.Complete || s.Offset != int64(len(stream)) || len(s.Types) != 1 || s.Types[0] != "Order" || s.Path[1] != "a" || s.Pairs < 60 {
		t.Errorf("%+v", s)
	}
}

// bounds returns the offsets at which the blocks of a stream begin, and its end.
func bounds(stream []byte) (all []int) {
	for at := 16; at < len(stream); {
		all = append(all, at)
		at += 9 + int(binary.BigEndian.Uint32(stream[at+1:]))
	}
	return append(all, len(stream))
}

// Each changed byte, missing byte, and block that is missing, comes twice or is of
// another stream, is found, with the number and the offset of the block.
func TestDamagedStreams(t *testing.T) {
	db := open(t, enginetest.Open(t))
	shop(t, db)
	all := tenants.Of(db, "tenants")
	stream, again := export(t, all, "a"), export(t, all, "a")
	blocks, random := bounds(stream), seed.Rand(t)
	blockOf := func(at int) (number int64) {
		for i, begin := range blocks {
			if at >= begin {
				number = int64(i)
			}
		}
		return number
	}
	refused := func(what string, bad []byte, at int) {
		t.Helper()
		s, err := tenants.Inspect(bytes.NewReader(bad))
		if err == nil && s.Complete {
			t.Fatalf("%s at %d is not found", what, at)
		}
		_, err = all.Import(ctx, "b", bytes.NewReader(bad), tenants.ImportOptions{})
		wantError(t, err, tenants.ErrStream)
		var block, offset int64
		_, place, _ := strings.Cut(err.Error(), "tenants: the stream is damaged at ")
		if _, failed := fmt.Sscanf(place, "block %d, offset %d:", &block, &offset); failed != nil || block != blockOf(at) || offset > int64(at) {
			t.Errorf("%s at %d is found at block %d, offset %d, want block %d: %v", what, at, block, offset, blockOf(at), err)
		}
		if there := must[bool](t)(all.Exists(ctx, "b")); there {
			t.Fatalf("%s at %d: a part of the tenant is there", what, at)
		}
		check(t, all.Abandon(ctx, "b"))
	}
	changes, ends := 150, 40
	if testing.Short() {
		changes, ends = 20, 8
	}
	for range changes {
		bad, at := bytes.Clone(stream), random.IntN(len(stream))
		bad[at] ^= 1 << random.IntN(8)
		refused("a changed byte", bad, at)
	}
	for range ends {
		at := random.IntN(len(stream))
		refused("an end", stream[:at], at)
	}
	for i, begin := range blocks[:len(blocks)-1] {
		end := blocks[i+1]
		refused("an end", stream[:begin], begin)
		if i > 0 && i < len(blocks)-2 {
			refused("a missing block", append(bytes.Clone(stream[:begin]), stream[end:]...), begin)
			refused("a second block", append(bytes.Clone(stream[:end]), stream[begin:]...), end)
		}
		if other := bounds(again); i > 0 && len(other) == len(blocks) {
			refused("another stream's block", append(bytes.Clone(stream[:begin]), again[other[i]:]...), begin)
		}
	}
	must[tenants.Progress](t)(all.Import(ctx, "b", bytes.NewReader(stream), tenants.ImportOptions{}))
	equal(t, contents(t, db, "tenants", "a"), contents(t, db, "tenants", "b"))
}

// cutWriter fails after some bytes, of which it writes all.
type cutWriter struct {
	bytes.Buffer
	left int
}

var errCut = errors.New("the disk is full")

func (w *cutWriter) Write(b []byte) (int, error) {
	n := min(len(b), w.left)
	w.left -= n
	_, _ = w.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errCut
	}
	return n, nil
}

// An export that stops anywhere is continued from what was written, and the stream is
// as good as one that did not stop.
func TestExportContinues(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		rooms := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "a"), "a", 100)
		whole := len(locked(t, rooms, "a"))
		lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
		random := seed.Rand(t)
		w := &cutWriter{left: 700 + random.IntN(whole/3)}
		_, err := rooms.Export(ctx, "a", w, tenants.ExportOptions{Lock: lock})
		for stops := 0; err != nil; stops++ {
			wantError(t, err, errCut)
			if stops > 30 {
				t.Fatal("it never ends")
			}
			was := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(w.Bytes())))
			if was.Complete {
				t.Fatal("it is complete")
			}
			w.Truncate(int(was.Offset))
			w.left = whole/4 + random.IntN(whole/3)
			_, err = rooms.Export(ctx, "a", w, tenants.ExportOptions{Lock: lock, Resume: was})
		}
		must[tenants.Progress](t)(rooms.Import(ctx, "b", bytes.NewReader(w.Bytes()), tenants.ImportOptions{}))
		equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", "b"))
		was := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(w.Bytes()[:w.Len()-1])))
		check(t, rooms.Unlock(ctx, lock))
		another := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
		wantError(t, second(rooms.Export(ctx, "a", w, tenants.ExportOptions{Lock: another, Resume: was})), tenants.ErrLockLost)
	})
}

// countReader counts the bytes that are read of a stream.
type countReader struct {
	io.ReadSeeker
	read int
}

func (r *countReader) Read(b []byte) (int, error) {
	n, err := r.ReadSeeker.Read(b)
	r.read += n
	return n, err
}

// An import that stops anywhere is continued by another call with the stream, which
// skips what is there; and another stream does not mix with it.
func TestImportContinues(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		rooms := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "a"), "a", 100)
		stream, again := locked(t, rooms, "a"), locked(t, rooms, "a")
		for i, reader := range map[string]func() io.Reader{
			"seekable": func() io.Reader { return bytes.NewReader(stream) },
			"not":      func() io.Reader { return io.MultiReader(bytes.NewReader(stream)) },
		} {
			name := "b " + i
			for stop := int64(1); ; stop += 2 {
				ctx, cancel := withCancel()
				_, err := rooms.Import(ctx, name, reader(), tenants.ImportOptions{Progress: func(p tenants.Progress) {
					if p.Blocks >= stop {
						cancel()
					}
				}})
				cancel()
				if stop == 5 {
					wantError(t, second(rooms.Import(context.WithoutCancel(ctx), name, bytes.NewReader(again), tenants.ImportOptions{})), tenants.ErrUnfinished)
				}
				if err == nil {
					break
				}
				if there := must[bool](t)(rooms.Exists(context.WithoutCancel(ctx), name)); there {
					t.Fatal("an unfinished import is visible")
				}
			}
			equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", name))
		}
		ctx, cancel := withCancel()
		defer cancel()
		_, err := rooms.Import(ctx, "c", bytes.NewReader(stream), tenants.ImportOptions{Progress: func(p tenants.Progress) {
			if p.Blocks == 6 {
				cancel()
			}
		}})
		wantError(t, err, context.Canceled)
		counted := &countReader{ReadSeeker: bytes.NewReader(stream)}
		must[tenants.Progress](t)(rooms.Import(context.WithoutCancel(ctx), "c", counted, tenants.ImportOptions{}))
		if counted.read > len(stream)*3/4 {
			t.Errorf("%d of %d bytes were read again", counted.read, len(stream))
		}
		equal(t, contents(t, db, "rooms", "a"), contents(t, db, "rooms", "c"))
	})
}

// FuzzInspect reads any bytes as a stream. A stream that is accepted has a known form.
func FuzzInspect(f *testing.F) {
	db := open(f, enginetest.Open(f))
	shop(f, db)
	stream := export(f, tenants.Of(db, "tenants"), "a")
	f.Add(stream)
	f.Add(stream[:len(stream)/2])
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		bad := bytes.Clone(stream)
		bad[random.IntN(len(bad))]++
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := tenants.Inspect(bytes.NewReader(b))
		if err == nil && s.Complete && s.Offset > int64(len(b)) {
			t.Errorf("%d bytes have the end %d", len(b), s.Offset)
		}
	})
}

// slowEngine lets each transaction that is begun by hand wait longer than a version can be read
// before it reads.
type slowEngine struct {
	kv.Database
	slow bool
}

func (e *slowEngine) Begin() (kv.Transaction, error) {
	tx, err := e.Database.Begin()
	if err != nil || !e.slow {
		return tx, err
	}
	return slowTx{tx}, nil
}

type slowTx struct{ kv.Transaction }

func (t slowTx) Snapshot() kv.ReadTransaction {
	time.Sleep(kv.MaxTransactionAge + time.Second)
	return t.Transaction.Snapshot()
}

// TestSlowExportsEnd exports a tenant that cannot be read at one version.
func TestSlowExportsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day0))                                // IDs begin in 2026
		inner := must[*embedded.Database](t)(embedded.OpenMemory()) // its clock is the bubble's
		engine := &slowEngine{Database: inner}
		db := open(t, engine)
		someOrders(t, db, "a", 3)
		engine.slow = true
		limited, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		_, err := tenants.Of(db, "tenants").Export(limited, "a", io.Discard, tenants.ExportOptions{})
		wantError(t, err, tenants.ErrTooLong)
		engine.slow = false
		check(t, db.Close())
		check(t, inner.Close())
	})
}

// A tenant moves to another database: from the lock to the end no program writes to it here or
// there, and each step can be repeated.
func TestMoveToAnotherDatabase(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		shop(t, db)
		before := contents(t, db, "tenants", "a")
		other := open(t, faults.HostileT(t, enginetest.Open(t)))
		someOrders(t, other, "already there", 3)
		from, to := tenants.Of(db, "tenants"), tenants.Of(other, "tenants")
		lock := must[tenants.Lock](t)(from.Lock(ctx, "a", "moves away"))
		var stream bytes.Buffer
		must[tenants.Progress](t)(from.Export(ctx, "a", &stream, tenants.ExportOptions{Lock: lock}))
		was := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(stream.Bytes())))
		if was.LockID != lock.ID {
			t.Errorf("the stream has the lock %q, want %q", was.LockID, lock.ID)
		}
		var again bytes.Buffer
		must[tenants.Progress](t)(from.Export(ctx, "a", &again, tenants.ExportOptions{Lock: lock}))
		var first tenants.Progress
		for i := range 2 {
			p := must[tenants.Progress](t)(to.Import(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{LockReason: "it arrives"}))
			if i == 0 {
				first = p
			} else if p.Pairs != first.Pairs || p.Bytes != first.Bytes {
				t.Errorf("the import once more: %+v, want %+v", p, first)
			}
		}
		wantError(t, second(to.Import(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{})), tenants.ErrExists)
		wantError(t, second(to.Import(ctx, "b", &again, tenants.ImportOptions{LockReason: "another stream"})), tenants.ErrExists)
		s := OrderStoreOf(other, "b")
		wantError(t, s.Create(ctx, s.New(Order{Number: "new", CreatedAt: day0})), persistable.ErrLocked)
		arrived, _, err := to.LockOf(ctx, "b")
		check(t, err)
		for range 2 {
			must[tenants.Progress](t)(to.Verify(ctx, "b", bytes.NewReader(stream.Bytes()), tenants.VerifyOptions{Lock: arrived}))
		}

		wantError(t, to.DeleteLocked(ctx, tenants.Lock{Tenant: "b", ID: was.LockID}), tenants.ErrLockLost)
		wantError(t, to.DeleteLocked(ctx, tenants.Lock{Tenant: "b"}), tenants.ErrLockLost)
		wantError(t, from.DeleteLocked(ctx, tenants.Lock{Tenant: "none", ID: was.LockID}), tenants.ErrNotFound)
		check(t, from.DeleteLocked(ctx, tenants.Lock{Tenant: "a", ID: was.LockID}))
		wantError(t, from.DeleteLocked(ctx, lock), tenants.ErrNotFound)
		check(t, to.Unlock(ctx, arrived))
		equal(t, before, contents(t, other, "tenants", "b"))
		check(t, s.Create(ctx, s.New(Order{Number: "new", CreatedAt: day0})))
		sound(t, s.Indexes().Verify)
	})
}

// Verify finds each key that was changed, added or removed, and other directories.
func TestVerifyFindsDifferences(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms := tenants.Of(db, "rooms")
	s := NoteStoreOf(db, "a")
	someNotes(t, s, "a", 10)
	programKeys(t, db, "rooms", "a")
	stream := export(t, rooms, "a")
	verify := func(stream []byte) error {
		return second(rooms.Verify(ctx, "a", bytes.NewReader(stream), tenants.VerifyOptions{}))
	}
	check(t, verify(stream))
	wantError(t, verify(stream[:len(stream)-1]), tenants.ErrStream)
	wantError(t, verify(stream[:len(stream)-30]), tenants.ErrStream)
	wantError(t, second(rooms.Verify(ctx, "none", bytes.NewReader(stream), tenants.VerifyOptions{})), tenants.ErrNotFound)
	var all []kv.KeyValue
	for _, d := range must[[]*directory.Directory](t)(db.Layer().Subtree(ctx, db.Engine(), []string{"rooms", "a"})) {
		if d.IsPartition() {
			continue
		}
		all = append(all, must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db.Engine(), func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
			return tx.GetRange(d.Reserve().Selectors(), kv.RangeOptions{}).Slice(ctx)
		}))...)
	}
	change := func(fn func(kv.Transaction)) {
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { fn(tx); return nil }))
	}
	for _, pair := range []kv.KeyValue{all[0], all[len(all)/2], all[len(all)-1]} {
		for what, fn := range map[string]func(kv.Transaction){
			"a value":  func(tx kv.Transaction) { tx.Set(pair.Key, []byte("changed")) },
			"one more": func(tx kv.Transaction) { tx.Set(append(bytes.Clone(pair.Key), "more"...), nil) },
			"one less": func(tx kv.Transaction) { tx.Clear(pair.Key) },
		} {
			change(fn)
			if err := verify(stream); !errors.Is(err, tenants.ErrDifferent) {
				t.Errorf("%s at %x: %v", what, pair.Key, err)
			}
			change(func(tx kv.Transaction) {
				tx.Clear(append(bytes.Clone(pair.Key), "more"...))
				tx.Set(pair.Key, pair.Value)
			})
		}
	}
	check(t, verify(stream))
	must[*directory.Directory](t)(db.Layer().CreateOrOpen(ctx, db.Engine(), []string{"rooms", "a", "one more"}))
	wantError(t, verify(stream), tenants.ErrDifferent)
}
