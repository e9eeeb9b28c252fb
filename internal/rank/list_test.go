// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
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

// TestClear removes all that a list has, and nothing else.
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

// TestLayoutDocument makes the list that docs/layout.md shows and compares every key and
// value.
func TestLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	l := &rank.List{
		Elements: tuple.Tuple{"I", "Player_rank_Score"}.MustPack(),
		Levels:   tuple.Tuple{"L", "Player_rank_Score"}.MustPack(),
	}
	mustTransact(t, db, func(tx kv.Transaction) error {
		var insert [][]byte
		for _, e := range []tuple.Tuple{{100, 1}, {100, 2}, {250, 3}, {300, 15}, {400, 4}} {
			insert = append(insert, e.MustPack())
		}
		return update(t.Context(), tx, l, nil, insert)
	})
	var stored []string
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
		stored = nil
		for _, pair := range pairs {
			stored = append(stored, "<dir>"+hex.EncodeToString(pair.Key)+"="+hex.EncodeToString(pair.Value))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documented(t, "rank"), stored); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documented returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key=value" in hex.
func documented(t *testing.T, label string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```"+label+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %q", label)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
