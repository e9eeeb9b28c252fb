// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
)

func TestRounds(t *testing.T) {
	key := []byte("k00001")
	all := model.UserKeys().Selectors()
	for _, tt := range []struct {
		name string
		run  func(c *conformance, tx kv.Transaction)
		want faults.Counts
	}{
		{"nothing", func(*conformance, kv.Transaction) {}, faults.Counts{}},
		{"a get", func(c *conformance, tx kv.Transaction) { c.get(tx, "a") }, faults.Counts{Rounds: 1, Gets: 1}},
		{"a get that nobody waits for", func(_ *conformance, tx kv.Transaction) { tx.Get(key) }, faults.Counts{Rounds: 1, Gets: 1}},
		{"one after another", func(c *conformance, tx kv.Transaction) {
			c.get(tx, "a")
			c.get(tx, "b")
		}, faults.Counts{Rounds: 2, Gets: 2}},
		{"together", func(c *conformance, tx kv.Transaction) {
			a, b, k := tx.Get([]byte("a")), tx.Snapshot().Get([]byte("b")), tx.GetKey(kv.FirstGreaterThan(key))
			wantFuture(c, "a", a, 0)
			wantFuture(c, "b", b, 0)
			wantFuture(c, "k", k, 0)
		}, faults.Counts{Rounds: 1, Gets: 3}},
		{"a second round while the first is not used up", func(c *conformance, tx kv.Transaction) {
			a, b := tx.Get([]byte("a")), tx.Get([]byte("b"))
			wantFuture(c, "a", a, 0)
			third, fourth := tx.Get([]byte("c")), tx.Get([]byte("d"))
			wantFuture(c, "b", b, 0)
			fifth := tx.Get([]byte("e"))
			for _, f := range []kv.Future[[]byte]{third, fourth, fifth} {
				wantFuture(c, "f", f, 0)
			}
		}, faults.Counts{Rounds: 2, Gets: 5}},
		{"a range in one batch with a get", func(c *conformance, tx kv.Transaction) {
			a := tx.Get([]byte("a"))
			r := tx.GetRange(all, kv.RangeOptions{Limit: 3, Mode: kv.ModeExact})
			wantFuture(c, "a", a, 0)
			_, err := r.Slice(c.ctx)
			c.wantCode("Slice", err, 0)
		}, faults.Counts{Rounds: 1, Gets: 1, Ranges: 1, Batches: 1}},
		{"free reads", func(c *conformance, tx kv.Transaction) {
			c.version(tx)
			c.get(tx, kv.MetadataVersionKey)
		}, faults.Counts{Free: 2}},
		{"writes", func(_ *conformance, tx kv.Transaction) {
			tx.Set(key, nil)
			tx.Clear(key)
			tx.ClearRange(model.UserKeys())
			tx.Atomic(kv.Add, key, []byte{1})
		}, faults.Counts{Writes: 4}},
		{"a retry", func(c *conformance, tx kv.Transaction) {
			tx.Get(key)
			c.wantCode("OnError", tx.OnError(c.ctx, &kv.Error{Code: kv.CodeNotCommitted}), 0)
			c.get(tx, "a")
		}, faults.Counts{Rounds: 2, Gets: 2, Retries: 1}},
		{"a commit", func(c *conformance, tx kv.Transaction) { c.commit(tx) }, faults.Counts{Commits: 1}},
		{"composed", func(c *conformance, tx kv.Transaction) {
			c.wantCode("Transact", tx.Transact(c.ctx, func(tx kv.Transaction) error {
				c.get(tx, "a")
				return tx.Snapshot().ReadTransact(c.ctx, func(view kv.ReadTransaction) error {
					c.get(view, "b")
					return nil
				})
			}), 0)
		}, faults.Counts{Rounds: 2, Gets: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counter := faults.NewCounter(naive.Open(t))
			c := &conformance{TB: t, ctx: t.Context(), db: counter}
			c.fill(10)
			got, err := counter.Measure(func() error {
				tt.run(c, c.begin())
				return nil
			})
			tt.want.Begins = 1
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("counts mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryFurtherBatchIsARound(t *testing.T) {
	counter := faults.NewCounter(naive.Open(t))
	c := &conformance{TB: t, ctx: t.Context(), db: counter}
	want := c.fill(3000)
	var got []string
	counts, err := counter.Measure(func() error {
		got = c.scan(c.begin(), model.UserKeys().Selectors(), kv.RangeOptions{Mode: kv.ModeSmall})
		return nil
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d pairs, %v, want %d", len(got), err, len(want))
	}
	if counts.Batches < 2 || counts.Rounds != counts.Batches || counts.Ranges != 1 {
		t.Errorf("%v, want one range of several batches and as many rounds", counts)
	}
}

func TestCounterCountsTransactAndReadTransact(t *testing.T) {
	counter := faults.NewCounter(naive.Open(t))
	c := &conformance{TB: t, ctx: t.Context(), db: counter}
	c.put("a", "1")
	c.contents()
	want := faults.Counts{Rounds: 1, Ranges: 1, Batches: 1, Writes: 1, Begins: 2, Commits: 1}
	if diff := cmp.Diff(want, counter.Counts()); diff != "" {
		t.Errorf("counts mismatch (-want +got):\n%s", diff)
	}
}

func TestConformanceOfTheCounter(t *testing.T) {
	RunConformance(t, func(tb testing.TB) kv.Database { return faults.NewCounter(naive.Open(tb)) })
}
