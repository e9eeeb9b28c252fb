// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	tenancy "github.com/kazahana-db/kazahana/persistable/tenants"
)

// sharedIndexes are of each kind of step that a verification has.
var sharedIndexes = []kindIndex{valueOfTags, uniqueSlug, coveringSection, countBySection, rankBySection, versions}

// workers are options that divide the records of tests, and soon take over claims.
func workers(n int, repair bool) persistable.VerifyOptions {
	return persistable.VerifyOptions{Workers: n, Repair: repair, Build: persistable.BuildOptions{RangeBytes: 1, Lease: 100 * time.Millisecond}}
}

// sorted returns a report with its faults and names in an order of their own.
func sorted(r persistable.Report) persistable.Report {
	slices.SortFunc(r.Faults, func(a, b persistable.Fault) int {
		return cmp.Or(strings.Compare(a.Index, b.Index), strings.Compare(string(a.Key), string(b.Key)), strings.Compare(a.Reason, b.Reason))
	})
	slices.Sort(r.Skipped)
	return r
}

// TestVerifyByWorkers compares the report of workers with that of a verification alone, of
// plain and scattered stores with damage, on an engine that makes every transaction run again and
// loses acknowledgements. Then they mend what can be mended. The clock of the test runs ahead while all
// wait: workers pause after conflicts.
func TestVerifyByWorkers(t *testing.T) {
	random := seed.Rand(t)
	for _, scatter := range []int{0, 4} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(scatter, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { verifyByWorkers(t, random, scatter, n) })
			})
		}
	}
}

func verifyByWorkers(t *testing.T, random *rand.Rand, scatter, n int) {
	engine := faults.Hostile(enginetest.InProcess(t), faults.Options{Seed: random.Uint64(), MaxDelay: -1})
	db := openWith(t, engine, persistable.Options{BuildBatch: 6})
	s := kindStore(db, scatter, sharedIndexes...)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	damage(t, random, db, dump(t, db))
	alone := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	shared := must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(n, false)))
	if diff := gocmp.Diff(sorted(alone), sorted(shared)); diff != "" {
		t.Errorf("(-alone +shared):\n%s", diff)
	}
	last := must[persistable.Verification](t)(s.Indexes().Verification(ctx))
	if diff := gocmp.Diff(sorted(shared), sorted(last.Report)); diff != "" || !last.Done || last.Ranges != 0 {
		t.Errorf("the last verification: %+v\n%s", last, diff)
	}
	repairByWorkers(t, s)
}

// repairByWorkers mends all that can be mended: not the entries of ranks, and their counts.
func repairByWorkers(t *testing.T, s *ArticleStore) {
	t.Helper()
	r := must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(3, true)))
	left := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	for _, f := range left.Faults {
		if f.Index != rankBySection.Name {
			t.Errorf("not mended: %v", f)
		}
	}
	if r.Repaired < len(r.Faults)-len(left.Faults) {
		t.Errorf("it repaired %d of %d faults, and %d are left", r.Repaired, len(r.Faults), len(left.Faults))
	}
}

// TestVerificationIsShared interrupts calls of two DBs at random batches, while both take part
// in one verification: together they read each record and each entry once.
func TestVerificationIsShared(t *testing.T) {
	random := seed.Rand(t)
	engine := enginetest.Open(t)
	one, two := openWith(t, engine, persistable.Options{BuildBatch: 3}), openWith(t, engine, persistable.Options{BuildBatch: 5})
	s := kindStore(one, 0, sharedIndexes...)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	damage(t, random, one, dump(t, one))
	alone := sorted(must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})))
	var group sync.WaitGroup
	var interrupted atomic.Int64
	for i, db := range []*persistable.DB{one, two} {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
		group.Go(func() {
			for range 10 {
				if err := verifySome(kindStore(db, 0, sharedIndexes...), own.IntN(4)); errors.Is(err, errStopped) {
					interrupted.Add(1)
				}
			}
		})
	}
	group.Wait()
	if interrupted.Load() == 0 {
		t.Error("no call was interrupted")
	}
	shared := must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(1, false)))
	if diff := gocmp.Diff(alone, sorted(shared)); diff != "" {
		t.Errorf("(-alone +shared):\n%s", diff)
	}
}

// verifySome takes part in a verification until some batches are done.
func verifySome(s *ArticleStore, batches int) error {
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := workers(2, false)
	o.Progress = func(persistable.Report) {
		if batches--; batches < 0 {
			cancel(errStopped)
		}
	}
	_, err := s.Indexes().Verify(stop, o)
	return err
}

// TestVerificationIsReplaced: a call that repairs ends a verification that does not, with an
// error, and begins anew. The other one does not take part in it: all entries, which are missing, are
// repaired.
func TestVerificationIsReplaced(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{BuildBatch: 3})
	s := kindStore(db, 0, valueOfTags)
	for i := range 20 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		for key := range dump(t, db) {
			if strings.Contains(key, "\x02I\x00") {
				tx.Clear([]byte(key))
			}
		}
		return nil
	}))
	var once sync.Once
	o := workers(1, false)
	o.Progress = func(r persistable.Report) {
		if r.Records > 0 { // and the range has more
			once.Do(func() { beginToRepair(t, s) })
		}
	}
	if _, err := s.Indexes().Verify(ctx, o); err == nil || !strings.Contains(err.Error(), "another verification has begun since") {
		t.Errorf("the first verification: %v", err)
	}
	must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(1, true)))
	sound(t, s.Indexes().Verify)
}

// beginToRepair begins a verification that repairs, and stops before its first batch.
func beginToRepair(t *testing.T, s *ArticleStore) {
	stop, cancel := context.WithCancelCause(ctx)
	hooked := worklist.WithHook(stop, func(worklist.Stage) { cancel(errStopped) })
	if _, err := s.Indexes().Verify(hooked, workers(1, true)); !errors.Is(err, errStopped) {
		t.Errorf("the second verification: %v", err)
	}
}

// TestVerifyByWorkersUnderLock verifies a store of a locked tenant, of which nothing changes.
func TestVerifyByWorkersUnderLock(t *testing.T) {
	db := openWith(t, enginetest.Open(t), persistable.Options{})
	s := OrderStoreOf(db, "t")
	check(t, s.Create(ctx, &Order{ID: 1, TenantID: "t", Number: "1", Status: Paid, CreatedAt: day0}))
	must[tenancy.Lock](t)(tenancy.Of(db, "tenants").Lock(ctx, "t", "the test"))
	if r := soundWith(t, s.Indexes().Verify, workers(2, false)); r.Records != 1 {
		t.Errorf("%+v", r)
	}
}

// TestVerificationOptions refuses what has no meaning.
func TestVerificationOptions(t *testing.T) {
	for text, o := range map[string]persistable.VerifyOptions{
		"from 0 to": {Workers: -1}, "with Workers the database": {Workers: 1, Token: "x"},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	db := openWith(t, enginetest.Open(t), persistable.Options{})
	s := kindStore(db, 0, valueOfTags)
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(1, false))); r.Records != 0 {
		t.Errorf("without a store: %+v", r)
	}
	if v := must[persistable.Verification](t)(s.Indexes().Verification(ctx)); v.Done || !v.Began.IsZero() {
		t.Errorf("without a verification: %+v", v)
	}
	check(t, s.Create(ctx, smallArticle(1)))
	was := maps.Clone(dump(t, db))
	if soundWith(t, s.Indexes().Verify, persistable.VerifyOptions{}); len(was) != len(dump(t, db)) {
		t.Error("a verification without workers writes")
	}
}
