// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// tiny are options under which commits leave the window at once, segments are
// short, and nothing happens that the test has not asked for.
func tiny(fs vfs.FS) Options {
	return Options{FS: fs, window: 1, segmentSize: 400, flushAt: 1500, noAbsorb: true}
}

func openTest(t testing.TB, o Options) *Database {
	t.Helper()
	db, err := Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeTest(t testing.TB, db *Database) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// transact is Transact for functions that cannot fail.
func transact(t testing.TB, db *Database, fn func(kv.Transaction)) {
	t.Helper()
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		fn(tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// drawKey draws one of few keys, the empty one and such with zero bytes among
// them.
func drawKey(t *rapid.T, label string) string {
	key := rapid.StringMatching(`[abc]{0,2}`).Draw(t, label)
	if rapid.IntRange(0, 4).Draw(t, label+" zero") == 0 {
		key += "\x00"
	}
	return key
}

// drawWrite draws a write, makes it in the model and returns it for the
// database.
func drawWrite(t *rapid.T, model map[string]string) func(kv.Transaction) {
	key := drawKey(t, "key")
	value := fmt.Sprint(rapid.IntRange(0, 999).Draw(t, "value"))
	switch rapid.IntRange(0, 9).Draw(t, "write") {
	case 0, 1:
		delete(model, key)
		return func(tx kv.Transaction) { tx.Clear([]byte(key)) }
	case 2, 3:
		end := drawKey(t, "end")
		if rapid.Bool().Draw(t, "to the end") {
			end = "\xff"
		}
		if end < key {
			key, end = end, key
		}
		maps.DeleteFunc(model, func(k, _ string) bool { return key <= k && k < end })
		return func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte(key), End: []byte(end)}) }
	case 4, 5:
		model[key] += value
		return func(tx kv.Transaction) { tx.Atomic(kv.AppendIfFits, []byte(key), []byte(value)) }
	default:
		model[key] = value
		return func(tx kv.Transaction) { tx.Set([]byte(key), []byte(value)) }
	}
}

type pairs [][2]string

func pairsOf(model map[string]string, r kv.KeyRange, reverse bool, limit int) pairs {
	var want pairs
	for _, k := range slices.Sorted(maps.Keys(model)) {
		if string(r.Begin) <= k && k < string(r.End) {
			want = append(want, [2]string{k, model[k]})
		}
	}
	if reverse {
		slices.Reverse(want)
	}
	if limit > 0 && len(want) > limit {
		want = want[:limit]
	}
	return want
}

func readPairs(tx kv.ReadTransaction, r kv.KeyRange, o kv.RangeOptions) (got pairs, err error) {
	kvs, err := tx.GetRange(kv.SelectorRange{
		Begin: kv.FirstGreaterOrEqual(r.Begin), End: kv.FirstGreaterOrEqual(r.End),
	}, o).Slice(context.Background())
	for _, p := range kvs {
		got = append(got, [2]string{string(p.Key), string(p.Value)})
	}
	return got, err
}

var everything = kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}

// checkReads compares reads of every kind with the model.
func checkReads(t *rapid.T, db *Database, model map[string]string) {
	r := kv.KeyRange{Begin: []byte(drawKey(t, "from")), End: []byte(drawKey(t, "to"))}
	if string(r.End) < string(r.Begin) {
		r.Begin, r.End = r.End, r.Begin
	}
	key := drawKey(t, "get")
	limit := rapid.IntRange(0, 4).Draw(t, "limit")
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		value, err := tx.Get([]byte(key)).Get(t.Context())
		if err != nil {
			return err
		}
		if want, ok := model[key]; ok != (value != nil) || want != string(value) {
			t.Fatalf("Get(%q) = %q, want %q, %v", key, value, want, ok)
		}
		for _, reverse := range []bool{false, true} {
			for _, within := range []kv.KeyRange{everything, r} {
				got, err := readPairs(tx, within, kv.RangeOptions{Reverse: reverse, Limit: limit})
				if err != nil {
					return err
				}
				if diff := cmp.Diff(pairsOf(model, within, reverse, limit), got); diff != "" {
					t.Fatalf("%q to %q, reverse %v (-want +got):\n%s", within.Begin, within.End, reverse, diff)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestModel compares a database that moves commits to the base all the time,
// and which is closed and opened again, with a map.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		open := func() *Database {
			db, err := Open("db", tiny(fs))
			if err != nil {
				t.Fatal(err)
			}
			return db
		}
		db := open()
		defer func() { _ = db.Close() }()
		model := map[string]string{}
		var versions []int64
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			case 0:
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				db = open()
			case 1:
				absorbAll(t, db)
			case 2:
				if len(versions) == 0 {
					continue
				}
				at := rapid.IntRange(0, len(versions)-1).Draw(t, "horizon")
				if err := db.disk.absorber.AbsorbTo(versions[at]); err != nil {
					t.Fatal(err)
				}
				versions = versions[at+1:]
			case 3, 4:
				checkReads(t, db, model)
			default:
				var writes []func(kv.Transaction)
				for range rapid.IntRange(1, 4).Draw(t, "writes") {
					writes = append(writes, drawWrite(t, model))
				}
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					for _, write := range writes {
						write(tx)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				versions = append(versions, db.head.Published().Version())
			}
		}
		checkReads(t, db, model)
		absorbAll(t, db)
		checkReads(t, db, model)
	})
}

// absorbAll absorbs everything: nothing is left in the window, nor on its
// account.
func absorbAll(t rapid.TB, db *Database) {
	t.Helper()
	if err := db.disk.absorber.AbsorbTo(db.head.Published().Version()); err != nil {
		t.Fatal(err)
	}
	var left []string
	for e := range db.head.Newest().Entries() {
		left = append(left, fmt.Sprintf("%q %+v", e.Key, e))
	}
	if want := []string{fmt.Sprintf("%q %+v", "", mvcc.EntryInfo{Key: []byte{}})}; !slices.Equal(left, want) {
		t.Fatalf("the window that was absorbed holds\n%s", strings.Join(left, "\n"))
	}
	if m := db.Metrics(); m.WindowBytes != 0 || m.WindowWrites != 0 {
		t.Fatalf("the account of an empty window has %d bytes, %d writes", m.WindowBytes, m.WindowWrites)
	}
}

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
