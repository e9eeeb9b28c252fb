// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// TestLendingIsNotSeen makes the same reads in two transactions, of which one borrows
// the pairs, over rows of the base and of the window. They return the same pairs, and
// the transactions have the same conflict ranges and sizes: neither keeps what is
// overwritten when other batches are lent.
func TestLendingIsNotSeen(t *testing.T) {
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	fillOld(t, db)
	transact(t, db, func(tx kv.Transaction) {
		for i := 0; i < 100; i += 7 {
			tx.Set(fmt.Appendf(nil, "row %03d", i), []byte("in the window"))
		}
	})
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	for range 200 {
		plain, borrowing := begin(t, db), begin(t, db)
		for range 1 + random.IntN(6) {
			if random.IntN(3) == 0 {
				key := fmt.Appendf(nil, "row %03d", random.IntN(120))
				for _, tx := range []kv.Transaction{plain, borrowing} {
					tx.Set(key, []byte("own"))
				}
			}
			sels, o := randomRange(random)
			want := copyPairs(t, plain.GetRange(sels, o))
			o.Lend = true
			got := copyPairs(t, borrowing.GetRange(sels, o))
			if !slices.EqualFunc(got, want, func(a, b kv.KeyValue) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) }) {
				t.Fatalf("%v, %+v: borrowed %q, want %q", sels, o, got, want)
			}
		}
		wantReads, _, err := plain.ConflictRanges(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gotReads, _, err := borrowing.ConflictRanges(t.Context())
		if err != nil || fmt.Sprintf("%q", gotReads) != fmt.Sprintf("%q", wantReads) {
			t.Fatalf("the borrower conflicts with %q, %v, want %q", gotReads, err, wantReads)
		}
		want, _ := plain.GetApproximateSize().Get(t.Context())
		if got, err := borrowing.GetApproximateSize().Get(t.Context()); got != want || err != nil {
			t.Fatalf("the borrower has a size of %d, %v, want %d", got, err, want)
		}
		plain.Cancel()
		borrowing.Cancel()
	}
}

// randomRange returns a read of some of the rows.
func randomRange(random *rand.Rand) (kv.SelectorRange, kv.RangeOptions) {
	key := func() []byte { return fmt.Appendf(nil, "row %03d", random.IntN(110)) }
	r := kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(key()), End: kv.FirstGreaterOrEqual(key())}
	if random.IntN(4) == 0 {
		r.Begin, r.End = r.Begin.Add(random.IntN(5)-2), r.End.Add(random.IntN(5)-2)
	}
	o := kv.RangeOptions{Reverse: random.IntN(2) == 0, Mode: kv.ModeIterator}
	if o.Limit = random.IntN(3) * random.IntN(40); o.Limit == 0 || random.IntN(2) == 0 {
		o.Mode = kv.ModeSmall
	}
	return r, o
}

// copyPairs returns copies of the pairs of a read.
func copyPairs(t *testing.T, r kv.RangeResult) (all []kv.KeyValue) {
	t.Helper()
	for pair, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kv.KeyValue{Key: bytes.Clone(pair.Key), Value: bytes.Clone(pair.Value)})
	}
	return all
}

// TestLentScanMemory measures the memory that a scan of 100 rows of the base asks for: if
// it borrows them, less than their pairs alone need, which are 48 bytes each.
func TestLentScanMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	db := openTest(t, tiny(vfs.NewMem()))
	defer closeTest(t, db)
	fillOld(t, db)
	for _, o := range []kv.RangeOptions{
		{Mode: kv.ModeWantAll, Lend: true}, {Mode: kv.ModeExact, Limit: 100, Lend: true}, {Mode: kv.ModeWantAll, Reverse: true, Lend: true},
	} {
		const runs, most = 200, 3_000
		var before, after runtime.MemStats
		for i := range runs + 20 {
			if i == 20 { // the first ones make the memory that is lent
				runtime.ReadMemStats(&before)
			}
			err := db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
				n := 0
				for _, err := range tx.GetRange(rowRange, o).All(context.Background()) {
					if err != nil {
						return err
					}
					n++
				}
				if n != 100 {
					t.Errorf("%+v: read %d rows", o, n)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > most {
			t.Errorf("%+v: a scan asks for %d bytes, want at most %d", o, got, most)
		}
	}
}

var rowRange = kv.KeyRange{Begin: []byte("row "), End: []byte("row!")}.Selectors()
