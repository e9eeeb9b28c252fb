// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
)

// TestSelectorsFarFromTheirKeys reads ranges with selectors that count more pairs
// than the bytes of a batch allow: requests go on for rows when their bytes are
// used up.
func TestSelectorsFarFromTheirKeys(t *testing.T) {
	const n = 300
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("k%03d/%060d", i, i))
	}
	db := memoryWith(t, keys...)
	key := func(i int) []byte { return []byte(keys[i]) }
	for _, mode := range []kv.StreamingMode{kv.ModeSmall, kv.ModeIterator, kv.ModeWantAll} {
		for _, far := range []int{2, 20, 120} {
			for _, reverse := range []bool{false, true} {
				t.Run(fmt.Sprintf("mode %d far %d reverse %t", mode, far, reverse), func(t *testing.T) {
					tx, err := db.Begin()
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Cancel()
					tx.Clear(key(n / 2)) // an own write: the engine then walks as FoundationDB's client does
					want := slices.Delete(slices.Clone(keys), n/2, n/2+1)[far : n-1-far]
					r := kv.SelectorRange{
						Begin: kv.FirstGreaterOrEqual(key(0)).Add(far),
						End:   kv.FirstGreaterOrEqual(kv.Successor(key(n - 1))).Add(-far),
					}
					pairs, err := tx.GetRange(r, kv.RangeOptions{Mode: mode, Reverse: reverse}).Slice(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, pair := range pairs {
						got = append(got, string(pair.Key))
					}
					if reverse {
						slices.Reverse(got)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

// TestSelectorsAcross reads every range between two selectors near few keys,
// including those with keys the other way round than what they select.
func TestSelectorsAcross(t *testing.T) {
	keys := []string{"b", "d", "f", "h"}
	db := memoryWith(t, keys...)
	ctx := t.Context()
	read := func(tx kv.ReadTransaction, r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
		return tx.GetRange(r, o).Slice(ctx)
	}
	ways := map[string]func(kv.SelectorRange, kv.RangeOptions) ([]kv.KeyValue, error){
		"of the database": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) { return read(tx, r, o) })
		},
		"of a transaction": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.Transact(ctx, db, func(tx kv.Transaction) ([]kv.KeyValue, error) { return read(tx, r, o) })
		},
		"over own writes": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.Transact(ctx, db, func(tx kv.Transaction) ([]kv.KeyValue, error) {
				tx.Set([]byte("d"), []byte("d"))
				tx.Clear([]byte("e"))
				return read(tx, r, o)
			})
		},
	}
	var selectors []kv.KeySelector
	for _, key := range []string{"a", "b", "c", "f", "h", "i"} {
		for offset := -5; offset <= 5; offset++ {
			selectors = append(selectors, kv.FirstGreaterOrEqual([]byte(key)).Add(offset))
		}
	}
	for way, read := range ways {
		for i, begin := range selectors {
			for j, end := range selectors {
				o := kv.RangeOptions{Limit: i * j % 4, Reverse: (i+j)%2 == 0, Mode: []kv.StreamingMode{kv.ModeIterator, kv.ModeWantAll, kv.ModeSmall}[(i+j)%3]}
				pairs, err := read(kv.SelectorRange{Begin: begin, End: end}, o)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, pair := range pairs {
					got += string(pair.Key)
				}
				if want := between(keys, begin, end, o); got != want {
					t.Errorf("%s, %v to %v, %+v: %q, want %q", way, begin, end, o, got, want)
				}
			}
		}
	}
}

// between returns the keys between two selectors, which are counted out.
func between(keys []string, begin, end kv.KeySelector, o kv.RangeOptions) (all string) {
	for i := max(place(keys, begin), 0); i < min(place(keys, end), len(keys)); i++ {
		if o.Reverse {
			all = keys[i] + all
		} else {
			all += keys[i]
		}
	}
	if o.Limit > 0 && len(all) > o.Limit {
		return all[:o.Limit]
	}
	return all
}

// TestSelectorsOneAfterTheOther makes many reads in one transaction: what the
// transaction knows from those before changes no answer, whether the database
// reads for itself, where sizes are not counted, or a transaction of the
// caller's, over own writes or not.
func TestSelectorsOneAfterTheOther(t *testing.T) {
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		var keys []string
		for key := byte('b'); key <= 'u'; key++ {
			if random.IntN(2) == 0 {
				keys = append(keys, string(key))
			}
		}
		db := memoryWith(t, keys...)
		reads := func(tx kv.ReadTransaction) error {
			for range 12 {
				if err := randomRead(t, random, tx, keys); err != nil {
					return err
				}
			}
			return nil
		}
		var err error
		if way := random.IntN(3); way == 0 {
			err = db.ReadTransact(t.Context(), reads)
		} else {
			err = db.Transact(t.Context(), func(tx kv.Transaction) error {
				if way == 2 && len(keys) > 2 {
					n := random.IntN(len(keys))
					tx.Clear([]byte(keys[n]))
					keys = slices.Delete(keys, n, n+1)
				}
				return reads(tx)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
}

// randomRead makes one read and compares it with the keys that are there.
func randomRead(t *testing.T, random *rand.Rand, tx kv.ReadTransaction, keys []string) error {
	t.Helper()
	key := func() []byte { return []byte{byte('a' + random.IntN(22))} }
	sel := func() kv.KeySelector {
		return kv.KeySelector{Key: key(), OrEqual: random.IntN(2) == 0, Offset: random.IntN(13) - 6}
	}
	if random.IntN(2) == 0 {
		tx = tx.Snapshot()
	}
	switch random.IntN(4) {
	case 0:
		k := key()
		value, err := tx.Get(k).Get(t.Context())
		if err != nil || string(value) != string(k) && value != nil || (value != nil) != slices.Contains(keys, string(k)) {
			t.Errorf("of %q, %q has the value %q (%v)", keys, k, value, err)
		}
		return err
	case 1:
		s := sel()
		got, err := tx.GetKey(s).Get(t.Context())
		if want := selected(keys, s); err != nil || string(got) != want {
			t.Errorf("of %q, %v is %q (%v), want %q", keys, s, got, err, want)
		}
		return err
	}
	r := kv.SelectorRange{Begin: sel(), End: sel()}
	o := kv.RangeOptions{Limit: random.IntN(6), Reverse: random.IntN(2) == 0, Mode: kv.StreamingMode(random.IntN(7))}
	if o.Mode == kv.ModeExact {
		o.Limit++
	}
	pairs, err := tx.GetRange(r, o).Slice(t.Context())
	got := ""
	for _, pair := range pairs {
		got += string(pair.Key)
	}
	if want := between(keys, r.Begin, r.End, o); err != nil || got != want {
		t.Errorf("of %q, %v to %v, %+v: %q (%v), want %q", keys, r.Begin, r.End, o, got, err, want)
	}
	return err
}

// place returns which key a selector selects, counted from 0; below 0 and from
// the number of keys on there is none.
func place(keys []string, sel kv.KeySelector) int {
	first, found := slices.BinarySearch(keys, string(sel.Key))
	if found && sel.OrEqual {
		first++
	}
	return first + sel.Offset - 1
}

func selected(keys []string, sel kv.KeySelector) string {
	switch n := place(keys, sel); {
	case n < 0:
		return ""
	case n >= len(keys):
		return "\xff"
	default:
		return keys[n]
	}
}

// TestSampleModel writes, overwrites and clears at random, moves commits to the
// base and opens the database again in between, and compares the sample with the
// one that all pairs come to: the sample must not depend on the way.
func TestSampleModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	o := tiny(vfs.NewMem())
	o.noAbsorb = true
	db := openTest(t, o)
	for round := range 60 {
		change(t, rng, db, round)
		switch what := rng.IntN(3); {
		case what == 0 || round%10 == 3 || round%10 == 7:
			absorbAll(t, db)
		case what == 1:
			closeTest(t, db)
			db = openTest(t, o)
		}
		compareSample(t, db, round)
	}
	closeTest(t, db)
}

func TestSampleModelInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	for round := range 60 {
		change(t, rng, db, round)
		compareSample(t, db, round)
	}
}

// change commits some changes: now and then there are many keys, and soon after
// most of them are cleared at once, which the base does by a range.
func change(t *testing.T, rng *rand.Rand, db *Database, round int) {
	t.Helper()
	transact(t, db, func(tx kv.Transaction) {
		switch round % 10 {
		case 3:
			for i := range 100 {
				tx.Set(fmt.Appendf(nil, "%02d", i), make([]byte, rng.IntN(20_000)))
			}
		case 7:
			tx.ClearRange(kv.KeyRange{Begin: []byte("1"), End: []byte("8")})
		default:
			for range rng.IntN(20) {
				changeAtRandom(rng, tx)
			}
		}
	})
}

// changeAtRandom changes one of few keys, with values of which some are always
// sampled and some almost never.
func changeAtRandom(rng *rand.Rand, tx kv.Transaction) {
	key := func() []byte { return fmt.Appendf(nil, "%02d", rng.IntN(100)) }
	switch rng.IntN(8) {
	case 0:
		tx.Clear(key())
	case 1:
		if from, to := key(), key(); string(from) < string(to) {
			tx.ClearRange(kv.KeyRange{Begin: from, End: to})
		}
	case 2:
		tx.Atomic(kv.AppendIfFits, key(), make([]byte, 10_000))
	default:
		tx.Set(key(), make([]byte, []int{0, 100, 5_000, 20_000, 50_000}[rng.IntN(5)]))
	}
}

func compareSample(t *testing.T, db *Database, round int) {
	t.Helper()
	var want, got strings.Builder
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		want.Reset()
		for pair, err := range tx.GetRange(everything.Selectors(), kv.RangeOptions{}).All(t.Context()) {
			if err != nil {
				return err
			}
			if size := base.Weight(pair.Key, len(pair.Value)); size > 0 {
				fmt.Fprintf(&want, "%s %d\n", pair.Key, size)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range db.head.Newest().SampleRange(everything.Begin, everything.End) {
		fmt.Fprintf(&got, "%s %d\n", s.Key, s.Size)
	}
	if got.String() != want.String() {
		t.Fatalf("round %d: the sample has\n%s, of what is stored\n%s", round, got.String(), want.String())
	}
}

// TestSampleIsFair estimates pairs of many sizes: the hash must not prefer any
// keys, even where they differ little.
func TestSampleIsFair(t *testing.T) {
	if testing.Short() {
		t.Skip("it weighs millions of keys, in one goroutine")
	}
	for _, valueSize := range []int{0, 10, 100, 1000, 10_000, 100_000} {
		var stored, estimated int64
		for i := 0; stored < 40_000_000; i++ {
			key := fmt.Appendf(nil, "orders/%08d", i)
			stored += int64(len(key) + valueSize)
			estimated += base.Weight(key, valueSize)
		}
		if ratio := float64(estimated) / float64(stored); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("pairs of %d bytes: the estimate is %.2f of what is stored", valueSize, ratio)
		}
	}
}
