// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Several writers each commit a series of numbered transactions, one after
// another, so that the contents tell which have happened. Each transaction
// writes many keys in all ways, and notes which of another writer's it has seen.
const (
	seriesWriters = 4
	seriesKept    = 20 // how many of a writer's transactions are not cleared again
	seriesWipe    = 50 // every so many a writer clears all that it has
)

// lasts are the numbers of the last transaction of each writer.
type lasts [seriesWriters]int

func (l lasts) sum() (n int) {
	for _, last := range l {
		n += last
	}
	return n
}

func seriesKey(w, i, part int) []byte { return fmt.Appendf(nil, "series/%d/%08d/%d", w, i, part) }

func seriesRange(w int) kv.KeyRange { return kv.PrefixRange(fmt.Appendf(nil, "series/%d/", w)) }

func lastKey(w int) []byte { return fmt.Appendf(nil, "last/%d", w) }

// commitSeries commits transaction i of writer w.
func commitSeries(ctx context.Context, db kv.Database, w, i int) error {
	return db.Transact(ctx, func(tx kv.Transaction) error { return writeSeries(ctx, tx, w, i) })
}

func writeSeries(ctx context.Context, tx kv.Transaction, w, i int) error {
	other, err := tx.Snapshot().Get(lastKey((w + 1) % seriesWriters)).Get(ctx) // writers do not conflict
	if err != nil {
		return err
	}
	clearSeries(tx, w, i)
	for part := range 3 {
		tx.Set(seriesKey(w, i, part), fmt.Append(nil, i))
	}
	tx.Set(lastKey(w), fmt.Append(nil, i))
	tx.Set(fmt.Appendf(nil, "seen/%d", w), fmt.Appendf(nil, "%d", readNumber(other)))
	tx.Atomic(kv.Max, fmt.Appendf(nil, "max/%d", w), kv.Int64(int64(i)))
	tx.Atomic(kv.Add, []byte("count"), kv.Int64(1))
	tx.Atomic(kv.CompareAndClear, seriesKey(w, i, 2), fmt.Append(nil, i-i%5)) // every fifth has two keys
	tx.Atomic(kv.SetVersionstampedValue, fmt.Appendf(nil, "stamp/%d", w), make([]byte, 14))
	return nil
}

// clearSeries clears what is too old, in one way or another.
func clearSeries(tx kv.Transaction, w, i int) {
	old := i - seriesKept
	switch {
	case i%seriesWipe == 0:
		tx.ClearRange(seriesRange(w))
	case old > 0 && old%2 == 0:
		for part := range 3 {
			tx.Clear(seriesKey(w, old, part))
		}
	case old > 0:
		tx.ClearRange(kv.KeyRange{Begin: seriesKey(w, old, 0), End: seriesKey(w, old, 9)})
	}
}

func readNumber(text []byte) (n int) {
	_, _ = fmt.Sscan(string(text), &n)
	return n
}

// wantSeries is what the database holds after some transactions, without the
// versionstamps and what the writers have seen.
func wantSeries(last lasts) map[string]string {
	want := map[string]string{}
	for w, n := range last {
		if n == 0 {
			continue
		}
		for i := max(1, n-seriesKept+1, n-n%seriesWipe); i <= n; i++ {
			for part := range 3 {
				if part < 2 || i%5 != 0 {
					want[string(seriesKey(w, i, part))] = fmt.Sprint(i)
				}
			}
		}
		want[string(lastKey(w))] = fmt.Sprint(n)
		want[fmt.Sprintf("max/%d", w)] = string(kv.Int64(int64(n)))
	}
	if last.sum() > 0 {
		want["count"] = string(kv.Int64(int64(last.sum())))
	}
	return want
}

// readSeries returns the numbers of the last transactions. It checks that the ones
// before them are there and none after, that all are whole, and that each
// transaction which one has seen is there too.
func readSeries(ctx context.Context, db kv.Database) (last lasts, err error) {
	pairs, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(everything.Selectors(), kv.RangeOptions{}).Slice(ctx)
	})
	if err != nil {
		return last, err
	}
	got := map[string]string{}
	for _, p := range pairs {
		got[string(p.Key)] = string(p.Value)
	}
	for w := range last {
		last[w] = readNumber([]byte(got[string(lastKey(w))]))
	}
	if err := takeNotes(got, last); err != nil {
		return last, err
	}
	if want := wantSeries(last); !maps.Equal(got, want) {
		return last, fmt.Errorf("after %v the database holds\n%q\nwant\n%q", last, sortedPairs(got), sortedPairs(want))
	}
	return last, nil
}

// takeNotes checks the versionstamps and what the writers have seen, and takes
// them out: a writer that has seen another's transaction commits after it.
func takeNotes(got map[string]string, last lasts) error {
	stamps := map[string]int{}
	for w, n := range last {
		seen, stamp := fmt.Sprintf("seen/%d", w), fmt.Sprintf("stamp/%d", w)
		if n > 0 && readNumber([]byte(got[seen])) > last[(w+1)%seriesWriters] {
			return fmt.Errorf("transaction %d of writer %d is there, but not transaction %s of the next, which it has seen", n, w, got[seen])
		}
		if n > 0 && (len(got[stamp]) != 10 || binary.BigEndian.Uint64([]byte(got[stamp])) == 0 || stamps[got[stamp]] > 0) {
			return fmt.Errorf("the versionstamp of writer %d is %q, others are %v", w, got[stamp], stamps)
		}
		stamps[got[stamp]]++
		delete(got, seen)
		delete(got, stamp)
	}
	return nil
}

func sortedPairs(m map[string]string) (texts []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, key+"="+m[key])
	}
	return texts
}
