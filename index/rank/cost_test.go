// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"encoding/binary"
	"testing"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

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
