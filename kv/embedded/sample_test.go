// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/base"
)

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
// keys, also where they differ little.
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
