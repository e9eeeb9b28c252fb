// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"errors"
	"math"
	"testing"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestHeights checks the distribution of heights. TestLayoutDocument pins one.
func TestHeights(t *testing.T) {
	var have [rank.Top + 1]int
	const n = 1 << 16
	for i := range n {
		have[rank.Height(number(i))]++
	}
	for level, want := 0, float64(n)*15/16; level < 3; level, want = level+1, want/16 {
		if got := float64(have[level]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%v of %d elements have the height %d, want about %v", got, n, level, want)
		}
	}
}

// TestFaultsAreFound changes the counts and fingers of a list by hand.
func TestFaultsAreFound(t *testing.T) {
	for name, damage := range map[string]func(tx kv.Transaction, l *rank.List, level1 []byte){
		"a count":             func(tx kv.Transaction, _ *rank.List, key []byte) { tx.Atomic(kv.Add, key, kv.Int64(1)) },
		"a missing finger":    func(tx kv.Transaction, _ *rank.List, key []byte) { tx.Clear(key) },
		"a count of 3 bytes":  func(tx kv.Transaction, _ *rank.List, key []byte) { tx.Set(key, []byte("abc")) },
		"a missing element":   func(tx kv.Transaction, l *rank.List, _ []byte) { tx.Clear(append([]byte("e/"), number(8)...)) },
		"an unknown element":  func(tx kv.Transaction, l *rank.List, _ []byte) { tx.Set(append([]byte("e/"), number(9)...), nil) },
		"a finger of nothing": func(tx kv.Transaction, _ *rank.List, key []byte) { tx.Set(append(key, 0), kv.Int64(0)) },
		"no first finger":     func(tx kv.Transaction, l *rank.List, _ []byte) { tx.Clear([]byte("l/\x15\x02")) },
	} {
		t.Run(name, func(t *testing.T) {
			db, l := enginetest.Open(t), newList()
			numbers(t, db, l, 300)
			mustTransact(t, db, func(tx kv.Transaction) error {
				pairs, err := tx.GetRange(kv.PrefixRange([]byte("l/\x15\x01")).Selectors(), kv.RangeOptions{Limit: 3}).Slice(t.Context())
				if err != nil {
					return err
				}
				damage(tx, l, pairs[2].Key)
				return nil
			})
			for _, limit := range []int{1, 4, 1000} {
				err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error { return verifyCounts(t.Context(), tx, l, limit) })
				var fault *rank.CountError
				if !errors.As(err, &fault) {
					t.Errorf("with a limit of %d the verification returns %v", limit, err)
				}
			}
		})
	}
}

// TestUpdateTwice applies an update twice: after a lost acknowledgement, or because an
// index build has come first.
func TestUpdateTwice(t *testing.T) {
	db, l := enginetest.Open(t), newList()
	numbers(t, db, l, 50)
	var m model
	for i := range 50 {
		m = m.with(number(2 * i))
	}
	erase, insert := [][]byte{number(8), number(9)}, [][]byte{number(10), number(11)}
	for range 2 {
		mustTransact(t, db, func(tx kv.Transaction) error { return update(t.Context(), tx, l, erase, insert) })
		verifyList(t, db, l, m.apply(erase, insert))
	}
}

// TestClear removes all that a list has, and nothing beside it.
func TestClear(t *testing.T) {
	db, l := enginetest.Open(t), newList()
	numbers(t, db, l, 100)
	mustTransact(t, db, func(tx kv.Transaction) error {
		tx.Set([]byte("d"), nil)
		tx.Set([]byte("m"), nil)
		l.Clear(tx)
		return nil
	})
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		left, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
		if len(left) != 2 {
			t.Errorf("%d keys are left, want 2", len(left))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLongRuns has a list without fingers, much longer than what is read at once, and then
// one finger before all.
func TestLongRuns(t *testing.T) {
	db, l := enginetest.Open(t), newList()
	var m model
	for i := 1; len(m) < 700; i++ {
		if rank.Height(number(i)) == 0 {
			m = append(m, number(i))
		}
	}
	mustTransact(t, db, func(tx kv.Transaction) error { return update(t.Context(), tx, l, nil, m) })
	first := []byte{1}
	for rank.Height(first) == 0 {
		first = append(first, 0)
	}
	mustTransact(t, db, func(tx kv.Transaction) error { return update(t.Context(), tx, l, nil, [][]byte{first}) })
	m = m.with(first)
	verifyList(t, db, l, m)
	for i, element := range m {
		mustTransact(t, db, func(tx kv.Transaction) error {
			got, err := l.Rank(t.Context(), tx, element)
			if err == nil && got != int64(i) {
				t.Errorf("the rank of element %d is %d", i, got)
			}
			if err != nil {
				return err
			}
			nth, err := l.Nth(t.Context(), tx, nil, int64(i))
			if err == nil && string(nth) != string(element) {
				t.Errorf("element %d is %x, want %x", i, nth, element)
			}
			return err
		})
	}
}
