// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/kv"
)

func newList() *rank.List { return &rank.List{Elements: []byte("e/"), Levels: []byte("l/")} }

// pool returns n elements of each height, one of the highest: of these, random ones
// make lists that have all levels, with few elements.
func pool(n int) (all [][]byte) {
	var have [rank.Top + 1]int
	for i := uint32(0); have[rank.Top-1] < n || have[rank.Top] == 0; i++ {
		element := binary.LittleEndian.AppendUint32([]byte{1}, i)
		if h := rank.Height(element); have[h] < n {
			have[h]++
			all = append(all, element)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// model is a list as the tests know it: sorted elements.
type model [][]byte

func (m model) find(element []byte) (int, bool) {
	return slices.BinarySearchFunc(m, element, slices.Compare[[]byte])
}

func (m model) with(element []byte) model {
	i, found := m.find(element)
	if found {
		return m
	}
	return slices.Insert(slices.Clone(m), i, element)
}

func (m model) without(element []byte) model {
	i, found := m.find(element)
	if !found {
		return m
	}
	return slices.Delete(slices.Clone(m), i, i+1)
}

func (m model) apply(erase, insert [][]byte) model {
	for _, element := range erase {
		m = m.without(element)
	}
	for _, element := range insert {
		m = m.with(element)
	}
	return m
}

// count returns how many elements are in a range; a nil end is the end.
func (m model) count(begin, end []byte) int64 {
	from, _ := m.find(begin)
	to := len(m)
	if end != nil {
		to, _ = m.find(end)
	}
	return int64(max(to-from, 0))
}

// nth returns the element with n elements between begin and itself.
func (m model) nth(begin []byte, n int64) []byte {
	from, _ := m.find(begin)
	if n < 0 || n >= int64(len(m)-from) {
		return nil
	}
	return m[from+int(n)]
}

// draw returns distinct elements of a pool: some to erase and some to insert.
func draw(rng *rand.Rand, from [][]byte, most int) (erase, insert [][]byte) {
	order := rng.Perm(len(from))
	n := rng.IntN(most + 1)
	for _, i := range order[:n] {
		erase = append(erase, from[i])
	}
	for _, i := range order[n : n+rng.IntN(most+1)] {
		insert = append(insert, from[i])
	}
	return erase, insert
}

func update(ctx context.Context, tx kv.Transaction, l *rank.List, erase, insert [][]byte) error {
	u := l.Start(tx, erase, insert)
	if err := u.Plan(ctx); err != nil {
		return err
	}
	u.Write()
	return nil
}

// verifyList compares a list with the model, and its counts with its elements.
func verifyList(t testing.TB, db kv.Database, l *rank.List, want model) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error { return verifyIn(t, tx, l, want) })
	if err != nil {
		t.Fatal(err)
	}
}

func verifyIn(t testing.TB, tx kv.ReadTransaction, l *rank.List, want model) error {
	t.Helper()
	pairs, err := tx.GetRange(kv.PrefixRange(l.Elements).Selectors(), kv.RangeOptions{}).Slice(t.Context())
	if err != nil {
		return err
	}
	var got model
	for _, pair := range pairs {
		got = append(got, pair.Key[len(l.Elements):])
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]byte]) {
		t.Fatalf("the list has %x, want %x", got, want)
	}
	return verifyCounts(t.Context(), tx, l, 3)
}

// verifyCounts verifies the counts of all levels, limit fingers at a time.
func verifyCounts(ctx context.Context, tx kv.ReadTransaction, l *rank.List, limit int) error {
	var at rank.Position
	for done := false; !done; {
		var err error
		if at, done, err = l.Verify(ctx, tx, at, limit); err != nil {
			return err
		}
	}
	return nil
}
