// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestModel applies random updates, several in a transaction, and compares each answer
// with a sorted slice: within the transaction, which has written, and after it.
func TestModel(t *testing.T) {
	for _, engine := range []string{"plain", "hostile"} {
		t.Run(engine, func(t *testing.T) {
			db, rounds := enginetest.Open(t), 150
			if engine == "hostile" {
				db, rounds = faults.Hostile(db, faults.Options{Seed: seed.Of(t), MaxDelay: -1}), 30
			}
			rng, l, elements := seed.Rand(t), newList(), pool(25)
			var m model
			for range rounds {
				m = transactRandomly(t, db, rng, l, elements, m)
				verifyList(t, db, l, m)
			}
			emptyList(t, db, l, m)
		})
	}
}

// transactRandomly applies up to three updates in one transaction.
func transactRandomly(t *testing.T, db kv.Database, rng *rand.Rand, l *rank.List, elements [][]byte, before model) model {
	state := rng.Uint64()
	var m model
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		rng := rand.New(rand.NewPCG(state, 0)) // each attempt does the same
		m = before
		for range 1 + rng.IntN(3) {
			erase, insert := draw(rng, elements, 1+rng.IntN(8))
			if err := update(t.Context(), tx, l, erase, insert); err != nil {
				return err
			}
			m = m.apply(erase, insert)
			if err := askRandomly(t, tx, rng, l, elements, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// askRandomly compares some answers with the model.
func askRandomly(t *testing.T, tx kv.ReadTransaction, rng *rand.Rand, l *rank.List, elements [][]byte, m model) error {
	for range 3 {
		begin, end := boundary(rng, elements), boundary(rng, elements)
		got, err := l.Count(t.Context(), tx, begin, end)
		if err != nil {
			return err
		}
		if want := m.count(begin, end); got != want {
			return fmt.Errorf("%d elements from %x to %x, want %d", got, begin, end, want)
		}
		n := rng.Int64N(int64(len(m)) + 2)
		element, err := l.Nth(t.Context(), tx, begin, n)
		if err != nil {
			return err
		}
		if want := m.nth(begin, n); !bytes.Equal(element, want) {
			return fmt.Errorf("element %d from %x on is %x, want %x", n, begin, element, want)
		}
		if err := askPercentile(t, tx, rng, l, begin, end, m); err != nil {
			return err
		}
	}
	return nil
}

// boundary returns the end of a range: an element, what follows one, or none.
func boundary(rng *rand.Rand, elements [][]byte) []byte {
	element := elements[rng.IntN(len(elements))]
	switch rng.IntN(5) {
	case 0:
		return nil
	case 1:
		return kv.Successor(element)
	}
	return element
}

// askPercentile compares a percentile with its definition.
func askPercentile(t *testing.T, tx kv.ReadTransaction, rng *rand.Rand, l *rank.List, begin, end []byte, m model) error {
	percent := rng.IntN(101)
	element, err := l.Percentile(t.Context(), tx, begin, end, float64(percent))
	if err != nil {
		return err
	}
	var want []byte
	all := m.count(begin, end)
	for n := range all {
		if 100*(n+1) >= int64(percent)*all {
			want = m.nth(begin, n)
			break
		}
	}
	if !bytes.Equal(element, want) {
		return fmt.Errorf("percentile %d from %x to %x is %x, want %x", percent, begin, end, element, want)
	}
	return nil
}

// emptyList erases all elements and checks that no key is left.
func emptyList(t *testing.T, db kv.Database, l *rank.List, m model) {
	err := db.Transact(t.Context(), func(tx kv.Transaction) error { return update(t.Context(), tx, l, m, nil) })
	if err != nil {
		t.Fatal(err)
	}
	err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		left, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
		if len(left) > 0 {
			t.Errorf("an empty list has keys: %q", left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
