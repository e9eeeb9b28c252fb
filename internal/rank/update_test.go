// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestInterleavedUpdates has several transactions change one list from the same
// version. Whichever the engine lets commit, the counts are those of the elements.
// The pool has as many fingers of each level as elements that are none: most
// changes split or join counts of their neighbours.
func TestInterleavedUpdates(t *testing.T) {
	db, l, rng, elements := enginetest.Open(t), newList(), seed.Rand(t), pool(4)
	rounds := 2500
	if testing.Short() {
		rounds = 500
	}
	var m model
	committed, failed := 0, 0
	for range rounds {
		var writers []*writer
		for range 2 + rng.IntN(3) {
			writers = append(writers, beginWriter(t, db, rng, l, elements))
		}
		for _, w := range writers {
			switch err := w.tx.Commit(t.Context()); {
			case err == nil:
				m = m.apply(w.erase, w.insert)
				committed++
			case kv.CodeOf(err) == kv.CodeNotCommitted:
				failed++
			default:
				t.Fatal(err)
			}
		}
		verifyList(t, db, l, m)
	}
	t.Logf("%d committed, %d failed", committed, failed)
	if committed < rounds || failed < rounds/10 {
		t.Errorf("%d committed and %d failed of %d rounds: this tests nothing", committed, failed, rounds)
	}
}

// writer is a transaction that has written and is about to commit.
type writer struct {
	tx            kv.Transaction
	erase, insert [][]byte
}

func beginWriter(t *testing.T, db kv.Database, rng *rand.Rand, l *rank.List, elements [][]byte) *writer {
	w := &writer{tx: begin(t, db)}
	w.erase, w.insert = draw(rng, elements, 1+rng.IntN(2))
	mustUpdate(t, w.tx, l, w.erase, w.insert)
	w.tx.Set([]byte("x"), nil) // a transaction that writes nothing is not checked
	return w
}

func begin(t *testing.T, db kv.Database) kv.Transaction {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tx.Cancel)
	return tx
}

func mustUpdate(t *testing.T, tx kv.Transaction, l *rank.List, erase, insert [][]byte) {
	t.Helper()
	if err := update(t.Context(), tx, l, erase, insert); err != nil {
		t.Fatal(err)
	}
}

// named are elements by name, in the order of their names' first letters, of a
// height that the name's second letter tells.
func named(t *testing.T, names ...string) (all [][]byte) {
	t.Helper()
	for _, name := range names {
		element := []byte{name[0], 0, 0}
		for i := 0; rank.Height(element) != int(name[1]-'0'); i++ {
			element[1], element[2] = byte(i>>8), byte(i)
			if i == 1<<16 {
				t.Fatal("no element of that height")
			}
		}
		all = append(all, element)
	}
	return all
}

// TestWhatConflicts has two transactions change one list from the same version. The
// list has the elements of the first column; a letter says where an element is, the
// digit its height.
func TestWhatConflicts(t *testing.T) {
	for _, c := range []struct {
		name          string
		list          []string
		first, second string // the change: + or -, and the element
		conflict      bool
	}{
		{"two inserts behind one finger", []string{"b1", "y1"}, "+d0", "+f0", false},
		{"an insert and an erase behind one finger", []string{"b1", "d0", "y1"}, "-d0", "+f0", false},
		{"inserts into an empty list", nil, "+d0", "+f0", false},
		{"a new finger before an element", []string{"b1", "y1"}, "+d1", "+f0", true},
		{"an element behind a new finger", []string{"b1", "y1"}, "+f0", "+d1", true},
		{"an element before a new finger", []string{"b1", "y1"}, "+d0", "+f1", false},
		{"a new finger behind an element", []string{"b1", "y1"}, "+f1", "+d0", false},
		{"two new fingers side by side", []string{"b1", "y1"}, "+d1", "+f1", true},
		{"two new fingers side by side, backwards", []string{"b1", "y1"}, "+f1", "+d1", true},
		{"new fingers with one between them", []string{"b1", "m1", "y1"}, "+d1", "+p1", false},
		{"new fingers with one between them, backwards", []string{"b1", "m1", "y1"}, "+p1", "+d1", false},
		{"the finger before is erased", []string{"b1", "y1"}, "-b1", "+d0", true},
		{"an element behind an erased finger", []string{"b1", "y1"}, "+d0", "-b1", true},
		{"the finger behind a new one is erased", []string{"b1", "y1"}, "-y1", "+d1", true},
		{"a new finger before an erased one", []string{"b1", "y1"}, "+d1", "-y1", true},
		{"an erased finger before an element two fingers away", []string{"b1", "m1", "y1"}, "-b1", "+p0", false},
		{"fingers of higher levels far apart", []string{"b2", "m2", "p2", "y2"}, "+d1", "+q1", false},
		{"a higher finger between distant elements", []string{"b1", "c1", "m1", "y1"}, "+d2", "+p0", true},
		{"a higher finger behind a distant element", []string{"b1", "c1", "m1", "y1"}, "+p2", "+d0", false},
		{"the same element", []string{"b1"}, "+d0", "+d0", true},
		{"the same element erased", []string{"b1", "d0"}, "-d0", "-d0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, l := enginetest.Open(t), newList()
			mustTransact(t, db, func(tx kv.Transaction) error {
				return update(t.Context(), tx, l, nil, named(t, c.list...))
			})
			first, second := begin(t, db), begin(t, db)
			changeNamed(t, first, l, c.first)
			changeNamed(t, second, l, c.second)
			if err := first.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := second.Commit(t.Context())
			if conflict := kv.CodeOf(err) == kv.CodeNotCommitted; conflict != c.conflict || err != nil && !conflict {
				t.Errorf("the second commit fails with %v, want a conflict: %t", err, c.conflict)
			}
		})
	}
}

func mustTransact(t *testing.T, db kv.Database, fn func(kv.Transaction) error) {
	t.Helper()
	if err := db.Transact(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func changeNamed(t *testing.T, tx kv.Transaction, l *rank.List, change string) {
	t.Helper()
	elements := named(t, change[1:])
	if change[0] == '-' {
		mustUpdate(t, tx, l, elements, nil)
	} else {
		mustUpdate(t, tx, l, nil, elements)
	}
}

// TestReadersConflict has a transaction that writes ask a list, and another one change
// the list before it commits: where the answer changes, the commit fails.
func TestReadersConflict(t *testing.T) {
	db, l, rng, elements := enginetest.Open(t), newList(), seed.Rand(t), pool(12)
	var m model
	spared := 0
	for range 600 {
		reader, w := begin(t, db), beginWriter(t, db, rng, l, elements)
		at, end, n := boundary(rng, elements), boundary(rng, elements), rng.Int64N(int64(len(m))+1)
		ask := []func(context.Context, kv.ReadTransaction) (any, error){
			func(ctx context.Context, tx kv.ReadTransaction) (any, error) { return l.Count(ctx, tx, at, end) },
			func(ctx context.Context, tx kv.ReadTransaction) (any, error) {
				element, err := l.Nth(ctx, tx, at, n)
				return string(element), err
			},
		}[rng.IntN(2)]
		before := mustAsk(t, reader, ask)
		reader.Set([]byte("x"), nil)
		if err := w.tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		m = m.apply(w.erase, w.insert)
		after := mustAsk(t, begin(t, db), ask)
		err := reader.Commit(t.Context())
		if err == nil && before != after {
			t.Fatalf("the answer was %v and is %v, and the reader commits", before, after)
		}
		if err == nil {
			spared++
		}
	}
	if spared < 20 {
		t.Errorf("only %d of 600 readers commit: they conflict with everything", spared)
	}
}

func mustAsk(t *testing.T, tx kv.Transaction, ask func(context.Context, kv.ReadTransaction) (any, error)) any {
	t.Helper()
	answer, err := ask(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestCountIsLocal has a transaction count a range, and another one insert an element before
// the finger from which both ends are counted.
func TestCountIsLocal(t *testing.T) {
	db, l := enginetest.Open(t), newList()
	mustTransact(t, db, func(tx kv.Transaction) error {
		return update(t.Context(), tx, l, nil, named(t, "b1", "m1", "n0", "o0", "y1"))
	})
	reader, writer := begin(t, db), begin(t, db)
	n, err := l.Count(t.Context(), reader, []byte("n"), []byte("q"))
	if n != 2 || err != nil {
		t.Fatalf("there are %d elements (%v), want 2", n, err)
	}
	reader.Set([]byte("x"), nil)
	changeNamed(t, writer, l, "+c0")
	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := reader.Commit(t.Context()); err != nil {
		t.Errorf("a change far before the range disturbs the reader: %v", err)
	}
}

// number returns the n-th of a list of ascending elements.
func number(n int) []byte { return binary.BigEndian.AppendUint32([]byte{1}, uint32(n)) }

// numbers fills a list with the even numbers below 2n, many in a transaction.
func numbers(t *testing.T, db kv.Database, l *rank.List, n int) {
	t.Helper()
	const batch = 400
	for from := 0; from < n; from += batch {
		var insert [][]byte
		for i := from; i < min(from+batch, n); i++ {
			insert = append(insert, number(2*i))
		}
		mustTransact(t, db, func(tx kv.Transaction) error { return update(t.Context(), tx, l, nil, insert) })
	}
}

// TestCosts counts the rounds of reads in a list of several thousand elements. Their
// heights are fixed, so the rounds are, too.
func TestCosts(t *testing.T) {
	const size = 6000
	db, l := faults.NewCounter(enginetest.Open(t)), newList()
	numbers(t, db, l, size)
	for _, c := range []struct {
		name          string
		most, average float64 // rounds
		fn            func(tx kv.Transaction, i int) error
	}{
		{"to insert and erase", 2, 1.02, func(tx kv.Transaction, i int) error {
			return update(t.Context(), tx, l, [][]byte{number(2 * i)}, [][]byte{number(2*i + 1)})
		}},
		{"Rank", 2, 1.1, func(tx kv.Transaction, i int) error {
			got, err := l.Rank(t.Context(), tx, number(2*i+2))
			if got != int64(i)+1 {
				t.Errorf("%d elements are before, want %d", got, i+1)
			}
			return err
		}},
		{"Count", 2, 1.2, func(tx kv.Transaction, i int) error {
			_, err := l.Count(t.Context(), tx, number(i), number(i+size/2))
			return err
		}},
		{"Nth", rank.Top + 1, 4.5, func(tx kv.Transaction, i int) error {
			_, err := l.Nth(t.Context(), tx, nil, int64(i))
			return err
		}},
		{"Nth of few", 2, 1.1, func(tx kv.Transaction, i int) error {
			_, err := l.Nth(t.Context(), tx, number(2*i), 0)
			return err
		}},
	} {
		calls, rounds := 0.0, 0.0
		for i := 0; i < size; i += size / 100 {
			cost, err := db.Measure(func() error {
				return db.Transact(t.Context(), func(tx kv.Transaction) error { return c.fn(tx, i) })
			})
			if err != nil {
				t.Fatal(err)
			}
			if float64(cost.Rounds) > c.most {
				t.Errorf("%s takes %v, want at most %v rounds", c.name, cost, c.most)
			}
			calls, rounds = calls+1, rounds+float64(cost.Rounds)
		}
		if average := rounds / calls; average > c.average {
			t.Errorf("%s takes %.2f rounds on average, want at most %.2f", c.name, average, c.average)
		} else {
			t.Logf("%s: %.2f rounds", c.name, average)
		}
	}
}

// TestWritesOfAnInsert counts writes: the element, and a count for each level.
func TestWritesOfAnInsert(t *testing.T) {
	db, l := faults.NewCounter(enginetest.Open(t)), newList()
	for height, want := range []int{1 + rank.Top, 2 + rank.Top, 3 + rank.Top} {
		element := named(t, string([]byte{'a' + byte(height), '0' + byte(height)}))
		cost, err := db.Measure(func() error {
			return db.Transact(t.Context(), func(tx kv.Transaction) error { return update(t.Context(), tx, l, nil, element) })
		})
		if err != nil || cost.Writes > want || cost.Rounds != 1 {
			t.Errorf("inserting an element of height %d takes %v, want one round and at most %d writes (%v)", height, cost, want, err)
		}
	}
}
