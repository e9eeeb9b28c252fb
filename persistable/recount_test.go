// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

var (
	totals       = []kindIndex{countBySection, countByTags, sumBySection}
	recount      = persistable.VerifyOptions{RecountBytes: -1}
	repairTotals = persistable.VerifyOptions{RecountBytes: -1, Repair: true}
)

// TestRecountsBesideWriters lets writers change the records of plain and scattered stores
// while two programs at once repair damaged counts and sums by recounts, on an engine that
// makes every transaction run again and loses acknowledgements. The clock of the test runs
// ahead while all wait: builds pause after conflicts.
func TestRecountsBesideWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := seed.Rand(t)
		for _, scatter := range []int{0, 4} {
			repairBesideWriters(t, random, scatter)
		}
	})
}

func repairBesideWriters(t *testing.T, random *rand.Rand, scatter int) {
	engine := faults.Hostile(enginetest.InProcess(t), faults.Options{Seed: random.Uint64(), MaxDelay: -1})
	db := openWith(t, engine, persistable.Options{BuildBatch: 3 + random.IntN(9)})
	s := kindStore(db, scatter, totals...)
	for i := range 40 {
		check(t, s.Create(ctx, randomArticle(random, fmt.Sprintf("%03d", i))))
	}
	var writers, verifiers sync.WaitGroup
	for w := range 3 {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
		writers.Go(func() { writeAtRandom(t, own, db, s, 25) })
	}
	if r := soundWith(t, s.Indexes().Verify, recount); len(r.Skipped) > 0 {
		t.Errorf("skipped: %v", r.Skipped)
	}
	damageTotals(t, random, db)
	for range 2 {
		verifiers.Go(func() { must[persistable.Report](t)(s.Indexes().Verify(ctx, repairTotals)) })
	}
	verifiers.Wait()
	writers.Wait()
	checkCounts(t, db, s, totals...)
	soundWith(t, s.Indexes().Verify, recount)
	checkNoRecounts(t, db)
}

// damageTotals changes, removes, adds and destroys entries of counts and sums. It returns
// how many are wrong then.
func damageTotals(t *testing.T, random *rand.Rand, db *persistable.DB) (n int) {
	all := dump(t, db)
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		n = 0
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !strings.Contains(key, "\x02I\x00\x02Article_count") && !strings.Contains(key, "\x02I\x00\x02Article_sum") {
				continue
			}
			n++
			switch random.IntN(5) {
			case 0:
				tx.Clear([]byte(key))
			case 1:
				tx.Atomic(kv.Add, []byte(key), append([]byte{byte(1 + random.IntN(200))}, make([]byte, len(all[key])-1)...))
			case 2: // another group, which has no records
				tx.Set(tuple.AppendString([]byte(key[:strings.LastIndexByte(key[:len(key)-1], 0x02)]), fmt.Sprint("none", n)), all[key])
			case 3:
				tx.Set([]byte(key), []byte("damaged, and too long for a number"))
			default:
				n--
			}
		}
		return nil
	}))
	return n
}

// checkNoRecounts fails if a recount has left a key, or a trace in the history.
func checkNoRecounts(t *testing.T, db *persistable.DB) {
	t.Helper()
	for key, value := range dump(t, db) {
		if strings.Contains(key+string(value), "~recount") {
			t.Errorf("the key %q is left over, with the value %q", key, value)
		}
	}
}

// TestRecountFindsFaults compares what a verification at one version finds with what
// recounts find, whole and interrupted after each batch.
func TestRecountFindsFaults(t *testing.T) {
	random := seed.Rand(t)
	for range 12 {
		findFaults(t, random)
	}
}

func findFaults(t *testing.T, random *rand.Rand) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 3})
	s := kindStore(db, 0, totals...)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	before := dump(t, db)
	n := damageTotals(t, random, db)
	whole := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	if len(whole.Faults) != n {
		t.Errorf("%d faults of %d damaged entries", len(whole.Faults), n)
	}
	var sum persistable.Report
	for {
		stop, cancel := context.WithCancelCause(ctx)
		o := recount
		o.Token, o.Progress = sum.Next, func(persistable.Report) { cancel(errStopped) }
		r, err := s.Indexes().Verify(stop, o)
		sum.Records, sum.Entries, sum.Faults, sum.Next = sum.Records+r.Records, sum.Entries+r.Entries, append(sum.Faults, r.Faults...), r.Next
		if err == nil {
			break
		}
		if !errors.Is(err, errStopped) || r.Next == "" {
			t.Fatalf("%v, token %q", err, r.Next)
		}
	}
	byKey := func(r persistable.Report) map[string]string {
		all := map[string]string{}
		for _, f := range r.Faults {
			all[string(f.Key)] = f.String()
		}
		return all
	}
	if diff := gocmp.Diff(byKey(whole), byKey(sum)); diff != "" || whole.Entries != sum.Entries || whole.Records != sum.Records {
		t.Errorf("%d and %d records, %d and %d entries; faults (-at once +recounted):\n%s", whole.Records, sum.Records, whole.Entries, sum.Entries, diff)
	}
	o := repairTotals
	if random.IntN(2) == 0 {
		o.RecountBytes = 0 // at one version
	}
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, o)); r.Repaired != n {
		t.Errorf("%d of %d damaged entries are mended", r.Repaired, n)
	}
	if diff := gocmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("not as before the damage (-before +now):\n%s", diff)
	}
}

// TestNoRecountWritesNothing: counts and sums that are too large for one version are
// skipped, and the store is as before, damage included.
func TestNoRecountWritesNothing(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 3})
	s := kindStore(db, 0, totals...)
	for i := range 10 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	damageTotals(t, seed.Rand(t), db)
	before := dump(t, db)
	hooked := worklist.WithHook(ctx, func(stage build.Stage) { t.Errorf("the stage %v of a recount is reached", stage) })
	for _, repair := range []bool{false, true} {
		r := must[persistable.Report](t)(s.Indexes().Verify(hooked, persistable.VerifyOptions{RecountBytes: -1, NoRecount: true, Repair: repair}))
		if len(r.Skipped) != len(totals) || len(r.Faults) > 0 || r.Records != 10 {
			t.Errorf("repair %v: %d records, skipped %v, faults %v", repair, r.Records, r.Skipped, r.Faults)
		}
	}
	if diff := gocmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("the verification wrote (-before +now):\n%s", diff)
	}
}

// TestRecountsOfOlderPrograms: a program without the indexes maintains their recounts.
func TestRecountsOfOlderPrograms(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 4})
	s := SaleStoreOf(db)
	for i := range 20 {
		check(t, s.Create(ctx, saleOf(i)))
	}
	schema := newSaleSchema()
	schema.Indexes, schema.Entries, schema.Covers = nil, nil, nil
	older := saleStoreOf(db, &schema)
	next := 0
	hooked := worklist.WithHook(ctx, func(stage build.Stage) {
		if stage != build.Listed && stage != build.Filled && stage != build.Mended { // not within a transaction
			next++
			check(t, older.Save(ctx, saleOf(3*next)))
			check(t, older.Delete(ctx, saleOf(5*next).ID))
		}
	})
	r, err := s.Indexes().Verify(hooked, recount)
	if check(t, err); len(r.Faults) > 0 || len(r.Skipped) > 0 || next < 10 {
		t.Errorf("%d writes, faults %v, skipped %v", next, r.Faults, r.Skipped)
	}
	sound(t, s.Indexes().Verify)
	checkNoRecounts(t, db)
}

// TestRecountEndsWithItsIndex: while recounts are there, Rebuild and RemoveUnused leave
// nothing of them, and the verification reports what it cannot compare.
func TestRecountEndsWithItsIndex(t *testing.T) {
	for name, end := range map[string]func(*ArticleStore) error{
		"rebuild": func(s *ArticleStore) error {
			return s.Indexes().Rebuild(ctx, countBySection.Name, persistable.BuildOptions{})
		},
		"remove": func(s *ArticleStore) error { return s.Indexes().RemoveUnused(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 4})
			s := kindStore(db, 0, totals...)
			for i := range 20 {
				check(t, s.Create(ctx, smallArticle(i)))
			}
			for _, at := range []build.Stage{build.Recounting, build.Started, build.Finished, build.Compared} {
				ended := false
				hooked := worklist.WithHook(ctx, func(stage build.Stage) {
					if stage == at && !ended {
						ended = true
						check(t, end(s))
					}
				})
				r, err := s.Indexes().Verify(hooked, recount)
				if check(t, err); len(r.Faults) > 0 || !ended {
					t.Errorf("%s: faults %v", at, r.Faults)
				}
				checkNoRecounts(t, db)
				checkCounts(t, db, s, totals...)
			}
		})
	}
}

// TestRepairsExcludeEachOther lets a second program repair the same counts and sums between
// the reads and the commit of a repair: no difference is added twice.
func TestRepairsExcludeEachOther(t *testing.T) {
	for name, o := range map[string]persistable.VerifyOptions{"at once": {Repair: true}, "recounted": repairTotals} {
		t.Run(name, func(t *testing.T) {
			random := seed.Rand(t)
			db := open(t, enginetest.Open(t))
			s := kindStore(db, 0, totals...)
			for i := range 20 {
				check(t, s.Create(ctx, smallArticle(i)))
			}
			for damageTotals(t, random, db) == 0 {
			}
			mended := false
			hooked := worklist.WithHook(ctx, func(stage build.Stage) {
				if stage != build.Mended || mended {
					return
				}
				mended = true
				stop, cancel := context.WithCancelCause(ctx)
				kept := worklist.WithHook(stop, func(stage build.Stage) {
					if stage == build.Compared { // so that the header does not change
						cancel(errStopped)
					}
				})
				if _, err := s.Indexes().Verify(kept, o); err != nil && !errors.Is(err, errStopped) {
					t.Error(err)
				}
				checkCounts(t, db, s, totals...)
			})
			must[persistable.Report](t)(s.Indexes().Verify(hooked, o))
			if checkCounts(t, db, s, totals...); !mended {
				t.Error("nothing was mended")
			}
		})
	}
}

func saleOf(i int) *Sale {
	return &Sale{
		ID: fmt.Sprintf("%03d", i), Status: OrderStatus(i % 3), Country: fmt.Sprint("c", i%4), Tags: []string{fmt.Sprint("t", i%5), "all"},
		Amount: int64(i - 7), Units: uint64(i), CreatedAt: day0,
	}
}

// TestVerifyCounts: Verify finds counts and sums that are wrong, missing, or left over, and
// none while writers change them.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := kindStore(db, 0, countBySection, sumBySection)
		for i := range 20 {
			check(t, s.Create(ctx, smallArticle(i)))
		}
		var group sync.WaitGroup
		group.Go(func() { writeAtRandom(t, rand.New(rand.NewPCG(1, 2)), db, s, 15) })
		for range 5 {
			sound(t, s.Indexes().Verify)
		}
		group.Wait()
		sound(t, s.Indexes().Verify)
		for name, change := range map[string]func(tx kv.Transaction, key []byte){
			"wrong":     func(tx kv.Transaction, key []byte) { tx.Atomic(kv.Add, key, []byte{1}) },
			"missing":   func(tx kv.Transaction, key []byte) { tx.Clear(key) },
			"left over": func(tx kv.Transaction, key []byte) { tx.Set(append(key, 0x00), index.AppendCount(nil, 1)) },
		} {
			all := dump(t, db)
			check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
				for key := range all {
					if strings.Contains(key, countBySection.Name+"\x00\x02s1") && strings.Contains(key, "\x02I\x00") {
						change(tx, []byte(key))
					}
				}
				return nil
			}))
			if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(r.Faults) != 1 || r.Faults[0].Index != countBySection.Name {
				t.Errorf("%s: %v", name, r.Faults)
			}
			check(t, s.Indexes().Rebuild(ctx, countBySection.Name, persistable.BuildOptions{}))
			sound(t, s.Indexes().Verify)
		}
	})
}
