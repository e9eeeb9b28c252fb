// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// TestConcurrent moves amounts between accounts while commits are absorbed all
// the time. Every reader sees the same sum, however long it takes, or is told
// that its version is too old.
func TestConcurrent(t *testing.T) {
	const accounts, each = 50, 1000
	db := openTest(t, crashOptions(vfs.NewMem(), true))
	defer closeTest(t, db)
	account := func(i int) []byte { return fmt.Appendf(nil, "account %02d", i) }
	transact(t, db, func(tx kv.Transaction) {
		for i := range accounts {
			tx.Set(account(i), binary.LittleEndian.AppendUint64(nil, each))
		}
	})
	var (
		quit atomic.Bool
		wg   sync.WaitGroup
		old  atomic.Int64
	)
	for worker := range 4 {
		random := seed.Rand(t)
		wg.Go(func() {
			for !quit.Load() {
				from, to, n := random.IntN(accounts), random.IntN(accounts), int64(random.IntN(10))
				err := db.Transact(context.Background(), func(tx kv.Transaction) error {
					if worker%2 == 0 { // without reading
						tx.Atomic(kv.Add, account(from), binary.LittleEndian.AppendUint64(nil, uint64(-n)))
						tx.Atomic(kv.Add, account(to), binary.LittleEndian.AppendUint64(nil, uint64(n)))
						return nil
					}
					return transfer(tx, account(from), account(to), n)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for !quit.Load() {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Error(err)
			}
		}
	})
	reads := 0
	for round := 0; round < 600 || reads == 0 && !t.Failed(); round++ {
		got, err := sum(db, round%2 == 0)
		switch {
		case kv.CodeOf(err) == kv.CodeTransactionTooOld:
			old.Add(1)
		case err != nil:
			t.Error(err)
		case got != accounts*each:
			t.Errorf("the sum is %d, want %d", got, accounts*each)
		default:
			reads++
		}
	}
	quit.Store(true)
	wg.Wait()
	t.Logf("%d reads, %d too old", reads, old.Load())
}

// transfer moves n from one account to another by reading and writing both.
func transfer(tx kv.Transaction, from, to []byte, n int64) error {
	for _, part := range []struct {
		key   []byte
		delta int64
	}{{from, -n}, {to, n}} {
		value, err := tx.Get(part.key).Get(context.Background())
		if err != nil {
			return err
		}
		amount := binary.LittleEndian.Uint64(value) + uint64(part.delta)
		tx.Set(part.key, binary.LittleEndian.AppendUint64(nil, amount))
	}
	return nil
}

// sum adds the accounts up in one attempt.
func sum(db *Database, reverse bool) (total int64, err error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	got, err := readPairs(tx, everything, kv.RangeOptions{Reverse: reverse, Mode: kv.ModeSmall})
	for _, p := range got {
		total += int64(binary.LittleEndian.Uint64([]byte(p[1])))
	}
	return total, err
}

// TestTooOld reads a version that the base has gone past.
func TestTooOld(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("old")) })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	if _, err := tx.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("other"), []byte("new")) })
	}
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	if _, err := readPairs(tx, everything, kv.RangeOptions{}); kv.CodeOf(err) != kv.CodeTransactionTooOld {
		t.Errorf("the range read gets %v, want CodeTransactionTooOld", err)
	}
	if _, err := tx.Get([]byte("unknown")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
		t.Errorf("the read gets %v, want CodeTransactionTooOld", err)
	}
}

// TestCloseLeavesNothing closes a database twice and looks for its goroutines.
func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	db, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("value")) })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, db)
	closeTest(t, db)
	if _, err := tx.Get([]byte("key")).Get(t.Context()); err == nil {
		t.Error("a closed database can be read")
	}
	goleak.VerifyNone(t, before)
}

// TestBaseStaysSmall writes and clears keys within the window: nothing of them
// reaches the base, not even tombstones.
func TestBaseStaysSmall(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	for i := range 200 {
		transact(t, db, func(tx kv.Transaction) { tx.Set(fmt.Append(nil, i), []byte("value")) })
	}
	transact(t, db, func(tx kv.Transaction) { tx.ClearRange(everything) })
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("last"), nil) })
	if err := db.disk.absorber.Pass(); err != nil {
		t.Fatal(err)
	}
	iter, err := db.disk.base.Store().NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer iter.Close()
	for ok := iter.First(); ok; ok = iter.Next() {
		if iter.Key()[0] != 0 && !bytesEqual(iter.Key(), []byte("\x01last")) {
			t.Errorf("the base holds %q", iter.Key())
		}
	}
	if n := db.disk.base.Store().Metrics().MemTable.Size; n > 1<<20 {
		t.Errorf("the base's memtable has %d bytes", n)
	}
}

func bytesEqual(a, b []byte) bool { return string(a) == string(b) }
