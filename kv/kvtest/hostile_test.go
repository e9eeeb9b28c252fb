// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/naive"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func TestConformanceUnderHostility(t *testing.T) {
	seed := seed.Of(t)
	RunConformance(t, func(tb testing.TB) kv.Database {
		return faults.Hostile(naive.Open(tb), faults.Options{Seed: seed, SpareExplicit: true})
	})
}

// hostile returns words for a wrapped engine and for the engine itself.
func hostile(t *testing.T, o faults.Options) (wrapped, plain *conformance) {
	t.Helper()
	db := naive.Open(t)
	o.Seed = seed.Of(t)
	return &conformance{TB: t, ctx: t.Context(), db: faults.Hostile(db, o)}, &conformance{TB: t, ctx: t.Context(), db: db}
}

func TestEveryFunctionRunsAgain(t *testing.T) {
	c, plain := hostile(t, faults.Options{})
	for i := range 50 {
		runs := map[string]int{}
		key := fmt.Appendf(nil, "k%d", i)
		for name, run := range map[string]func() error{
			"writing": func() error {
				return c.db.Transact(c.ctx, func(tx kv.Transaction) error {
					runs["writing"]++
					tx.Set(key, nil)
					return nil
				})
			},
			"reading": func() error {
				return c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
					runs["reading"]++
					_, err := tx.Get(key).Get(c.ctx)
					return err
				})
			},
			"only reading in Transact": func() error {
				return c.db.Transact(c.ctx, func(tx kv.Transaction) error {
					runs["only reading in Transact"]++
					_, err := tx.Get(key).Get(c.ctx)
					return err
				})
			},
		} {
			if err := run(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if runs[name] < 2 || runs[name] > 4 {
				t.Errorf("%s ran %d times, want 2 to 4", name, runs[name])
			}
		}
	}
	c.want("keys", len(plain.contents()), 50)
}

// Every kind of fault must come up, and each must tell the truth.
func TestFaultsOfCommits(t *testing.T) {
	c, plain := hostile(t, faults.Options{})
	seen := map[string]int{}
	for i := range 200 {
		key := fmt.Sprintf("k%d", i)
		tx := c.begin()
		tx.Set([]byte(key), []byte("1"))
		stamp := tx.GetVersionstamp()
		watch := tx.Watch([]byte(key))
		err := tx.Commit(c.ctx)
		committed := plain.get(plain.begin(), key) == "1"
		seen[fmt.Sprintf("%d %t", kv.CodeOf(err), committed)]++
		if err == nil || !kv.IsRetryable(err) {
			t.Fatalf("the first commit: %v", err)
		}
		wantFuture(c, "GetVersionstamp", stamp, kv.CodeTransactionInvalidVersion)
		wantFuture(c, "Watch", watch, kv.CodeOf(err))
		version, verr := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", verr, 0)
		c.want("the version of a failed commit", version, int64(-1))
		wantFuture(c, "Get", tx.Get([]byte(key)), kv.CodeUsedDuringCommit)
		c.wantCommit(tx, kv.CodeUsedDuringCommit)
		c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
	}
	for _, kind := range []string{"1020 false", "1021 false", "1021 true", "1007 false"} {
		if seen[kind] < 10 {
			t.Errorf("of 200 commits %d were %q: %v", seen[kind], kind, seen)
		}
	}
	if len(seen) != 4 {
		t.Errorf("other outcomes: %v", seen)
	}
}

func TestFaultsAreLimited(t *testing.T) {
	c, _ := hostile(t, faults.Options{Faults: 5})
	for range 30 {
		tx := c.begin()
		failures := 0
		for range 40 {
			_, err := tx.Get([]byte("a")).Get(c.ctx)
			if err == nil {
				tx.Set([]byte("a"), []byte("1"))
				err = tx.Commit(c.ctx)
				if err == nil {
					tx.Reset()
					continue
				}
			}
			failures++
			c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
		}
		if failures < 1 || failures > 5 {
			t.Errorf("a transaction suffered %d faults, want 1 to 5", failures)
		}
	}
}

func TestAnExpiredTransactionStaysSo(t *testing.T) {
	c, _ := hostile(t, faults.Options{Faults: 100})
	tx := c.begin()
	for range 1000 {
		if _, err := tx.Get([]byte("a")).Get(c.ctx); err != nil {
			c.wantCode("Get", err, kv.CodeTransactionTooOld)
			break
		}
	}
	wantFuture(c, "Get again", tx.Get([]byte("b")), kv.CodeTransactionTooOld)
	wantFuture(c, "GetKey", tx.Snapshot().GetKey(kv.FirstGreaterThan(nil)), kv.CodeTransactionTooOld)
	_, err := tx.GetRange(model.UserKeys().Selectors(), kv.RangeOptions{}).Slice(c.ctx)
	c.wantCode("GetRange", err, kv.CodeTransactionTooOld)
	tx.Set([]byte("a"), nil)
	c.wantCommit(tx, kv.CodeTransactionTooOld)
	c.wantCode("OnError", tx.OnError(c.ctx, &kv.Error{Code: kv.CodeTransactionTooOld}), 0)
}

func TestNoUnknownResultWithAutomaticIdempotency(t *testing.T) {
	c, _ := hostile(t, faults.Options{})
	for range 50 {
		tx := c.begin()
		c.wantCode("SetOption", tx.SetOption(kv.OptionAutomaticIdempotency, 0), 0)
		tx.Set([]byte("a"), nil)
		c.wantCommit(tx, kv.CodeNotCommitted)
	}
}

func TestBatchesAreCutAtRandom(t *testing.T) {
	c, plain := hostile(t, faults.Options{SpareExplicit: true})
	want := fillRange(plain, 200)
	sizes := map[int]bool{}
	for range 20 {
		var got []string
		for batch, err := range c.begin().GetRange(model.UserKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Batches(c.ctx) {
			c.wantCode("Batches", err, 0)
			sizes[len(batch.KVs)] = true
			got = append(got, model.Texts(batch.KVs)...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %d pairs, want %d in order", len(got), len(want))
		}
	}
	if len(sizes) < 5 {
		t.Errorf("only %d sizes of batches: %v", len(sizes), sizes)
	}
}

func TestFuturesResolveLateAndOutOfOrder(t *testing.T) {
	c, plain := hostile(t, faults.Options{SpareExplicit: true, MaxDelay: 20 * time.Millisecond})
	fillRange(plain, 50)
	tx := c.begin()
	type arrival struct{ n int }
	arrivals := make(chan arrival, 50)
	late := 0
	for i := range 50 {
		future := tx.Get(fmt.Appendf(nil, "k%05d", i))
		if !future.Ready() {
			late++
		}
		go func() {
			<-future.Done()
			arrivals <- arrival{i}
		}()
	}
	order := make([]int, 50)
	for i := range order {
		order[i] = (<-arrivals).n
	}
	if late == 0 || slices.IsSorted(order) {
		t.Errorf("%d of 50 reads were not ready at once, arrivals: %v", late, order)
	}
}

func TestPendingReadsAreCancelledByReset(t *testing.T) {
	for name, end := range map[string]func(c *conformance, tx kv.Transaction){
		"Reset":   func(_ *conformance, tx kv.Transaction) { tx.Reset() },
		"Cancel":  func(_ *conformance, tx kv.Transaction) { tx.Cancel() },
		"OnError": func(c *conformance, tx kv.Transaction) { _ = tx.OnError(c.ctx, &kv.Error{Code: kv.CodeNotCommitted}) },
	} {
		c, _ := hostile(t, faults.Options{SpareExplicit: true, MaxDelay: time.Hour})
		tx := c.begin()
		futures := make([]kv.Future[[]byte], 20)
		for i := range futures {
			futures[i] = tx.Get([]byte("a"))
		}
		stamp, watch := tx.GetVersionstamp(), tx.Watch([]byte("a"))
		end(c, tx)
		cancelled := 0
		for _, f := range futures {
			if !f.Ready() {
				t.Errorf("%s: a read is still pending", name)
				continue
			}
			if _, err := f.Get(c.ctx); kv.CodeOf(err) == kv.CodeTransactionCancelled {
				cancelled++
			}
		}
		if cancelled == 0 {
			t.Errorf("%s: none of the reads was cancelled", name)
		}
		wantFuture(c, name+": Watch", watch, kv.CodeTransactionCancelled)
		if _, err := stamp.Get(c.ctx); err == nil {
			t.Errorf("%s: a versionstamp without a commit", name)
		}
	}
}

func TestWatchesFireWithoutAChange(t *testing.T) {
	c, plain := hostile(t, faults.Options{SpareExplicit: true})
	fired := 0
	var quiet kv.Future[struct{}]
	for range 40 {
		tx := c.begin()
		future := tx.Watch([]byte("a"))
		c.commit(tx)
		if future.Ready() {
			fired++
			wantFuture(c, "Watch", future, 0)
		} else {
			quiet = future
		}
	}
	if fired == 0 || fired == 40 {
		t.Fatalf("%d of 40 watches fired, want some and not all", fired)
	}
	plain.put("a", "1")
	c.soon("the watch of a changed key", quiet.Done())
}

func TestVersionsJump(t *testing.T) {
	db := naive.Open(t)
	counter := faults.NewCounter(db)
	c := &conformance{TB: t, ctx: t.Context(), db: faults.Hostile(counter, faults.Options{Seed: seed.Of(t), SpareExplicit: true})}
	for range 100 {
		c.begin()
	}
	if n := counter.Counts().Commits; n < 2 || n > 50 {
		t.Errorf("%d extra commits in 100 transactions", n)
	}
	c.wantContents()
}

func TestTheSameSeedMeansTheSameFate(t *testing.T) {
	fates := func(seed uint64) []kv.Code {
		c := &conformance{TB: t, ctx: t.Context(), db: faults.Hostile(naive.Open(t), faults.Options{Seed: seed})}
		var codes []kv.Code
		for range 30 {
			tx := c.begin()
			for range 3 {
				tx.Set([]byte("a"), nil)
				err := tx.Commit(c.ctx)
				codes = append(codes, kv.CodeOf(err))
				if err == nil {
					break
				}
				c.wantCode("OnError", tx.OnError(c.ctx, err), 0)
			}
		}
		return codes
	}
	if a, b := fates(7), fates(7); !slices.Equal(a, b) {
		t.Errorf("seed 7 twice:\n%v\n%v", a, b)
	}
	if a, b := fates(7), fates(8); slices.Equal(a, b) {
		t.Error("seeds 7 and 8 are alike")
	}
}

func TestConflictRangesPassThrough(t *testing.T) {
	c, _ := hostile(t, faults.Options{})
	tx := c.begin()
	c.wantCode("AddReadConflictKey", tx.AddReadConflictKey([]byte("a")), 0)
	read, _, err := tx.ConflictRanges(c.ctx)
	c.wantCode("ConflictRanges", err, 0)
	c.want("read", scenario.ShowRanges(read, nil), `{["a", "a\x00")}`)
}

// The laws about many goroutines hold with every fault switched on.
func TestConcurrencyUnderHostility(t *testing.T) {
	seed := seed.Of(t)
	open := func(tb testing.TB) kv.Database { return faults.Hostile(naive.Open(tb), faults.Options{Seed: seed}) }
	for _, name := range []string{"every increment counts once", "money is neither made nor lost", "an all-or-nothing pair is never seen half"} {
		t.Run(name, func(t *testing.T) { checkLaw(t, findLaw(t, name), open(t), open, lawTimeout) })
	}
}

// A program that takes a lost acknowledgement for a failure is found out.
func TestNaiveCountingFails(t *testing.T) {
	c, plain := hostile(t, faults.Options{})
	for range 100 {
		err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
			tx.Atomic(kv.Add, []byte("n"), kv.Int64(1))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := plain.get(plain.begin(), "n"); got == string(kv.Int64(100)) {
		t.Error("100 blind additions counted 100: no acknowledgement was lost after a commit")
	}
}

func TestHostileCloses(t *testing.T) {
	db := faults.Hostile(naive.Open(t), faults.Options{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Begin(); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Begin: %v, want ErrClosed", err)
	}
}
