// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
	"github.com/kazahana-db/kazahana/kv/internal/naive"
	"github.com/kazahana-db/kazahana/kv/internal/record"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func TestConformanceOfTheNaiveEngine(t *testing.T) { RunConformance(t, naive.Open) }

func TestDefaultsOfTheNaiveEngine(t *testing.T) { RunOptions(t, naive.OpenWith) }

// TestOptionsNoticeWrongEngines checks engines that ignore options, one that does not know those
// without an effect, and one with weak reads that are older than its commits.
func TestOptionsNoticeWrongEngines(t *testing.T) {
	for _, l := range optionLaws {
		wrong := func(tb testing.TB, o kv.TransactionOptions) kv.Database {
			switch {
			case len(o.Tags) > 0:
				return kv.With(naive.OpenFaulty(tb, "tags are refused"), o)
			case o.MaxStaleness > 0:
				return naive.OpenFaulty(tb, "stale reads")
			}
			return naive.OpenFaulty(tb, "options are ignored")
		}
		if failures := record.Failures(t, func(tb testing.TB) { checkOption(tb, l, wrong, time.Second) }); len(failures) == 0 {
			t.Errorf("the law %q holds on an engine without options", l.name)
		}
	}
}

// TestOptionsNoticeForgetting checks an engine that uses the options of its database for its
// first transaction only.
func TestOptionsNoticeForgetting(t *testing.T) {
	for _, name := range []string{"a default retry limit bounds OnError", "a default size limit holds again after OnError and Reset", "conflicting keys are told by default, after OnError too"} {
		forgetful := func(tb testing.TB, o kv.TransactionOptions) kv.Database {
			return naive.OpenFaultyWith(tb, "options are forgotten", o)
		}
		i := slices.IndexFunc(optionLaws, func(l optionLaw) bool { return l.name == name })
		if i < 0 {
			t.Fatalf("there is no law %q", name)
		}
		if failures := record.Failures(t, func(tb testing.TB) { checkOption(tb, optionLaws[i], forgetful, time.Second) }); len(failures) == 0 {
			t.Errorf("the law %q holds", name)
		}
	}
}

func TestLawsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range lawGroups {
		for _, l := range group.laws {
			name := group.name + "/" + l.name
			if seen[name] || strings.Contains(l.name, "/") {
				t.Errorf("the name %q is used twice or has a slash: -run could not choose it", name)
			}
			seen[name] = true
		}
	}
}

// faultyLaws are the wrong engines and the law that must notice each.
var faultyLaws = map[string]string{
	"no read conflicts":                  "lost update: by reads and sets",
	"drifting reads":                     "read skew: between two reads",
	"dirty writes":                       "dirty read: of what is never committed",
	"no selector conflicts":              "phantom: before the key of a selector",
	"no phantoms":                        "phantom: in an empty range",
	"ranges end with their first batch":  "modes, limits and directions give the same pairs",
	"absent keys are empty":              "an empty value is not an absent one",
	"equal operations are merged":        "two operations on one key are applied in order",
	"additions conflict":                 "two additions does not conflict",
	"watches never fire":                 "a watch fires after a change",
	"everything is retried":              "OnError returns what cannot be retried",
	"cleared ranges stay":                "a transaction reads its own writes",
	"snapshot reads conflict":            "a snapshot read does not conflict",
	"commits have the read version":      "versions grow with commits",
	"writes are reads":                   "a blind write does not conflict",
	"sizes are not known":                "a range's size is estimated",
	"sizes do not shrink":                "an estimate follows what is cleared and overwritten",
	"ranges are not split":               "split points divide a range into parts of about a size",
	"sizes are reads":                    "sizes neither conflict nor fix the read version",
	"conflicts are not told":             "a conflict tells the reads that others wrote to",
	"all reads are told as conflicts":    "a conflict tells the reads that others wrote to",
	"conflicts are told unasked":         "a conflict tells nothing unless the transaction asks",
	"conflicts are forgotten by OnError": "conflicting keys stay until the next report",
	"arguments are used after the call":  "arguments are copied",
}

func TestConformanceNoticesWrongEngines(t *testing.T) {
	for fault, name := range faultyLaws {
		t.Run(fault, func(t *testing.T) {
			l := findLaw(t, name)
			open := func(tb testing.TB) kv.Database { return naive.OpenFaulty(tb, fault) }
			failures := record.Failures(t, func(tb testing.TB) { checkLaw(tb, l, open(tb), open, time.Second) })
			if len(failures) == 0 {
				t.Errorf("the law %q holds", name)
			}
			failures = record.Failures(t, func(tb testing.TB) { checkLaw(tb, l, naive.Open(tb), naive.Open, lawTimeout) })
			if len(failures) > 0 {
				t.Errorf("the law %q fails on the right engine: %s", name, failures)
			}
		})
	}
}

func findLaw(t *testing.T, name string) law {
	t.Helper()
	for _, group := range lawGroups {
		for _, l := range group.laws {
			if l.name == name {
				return l
			}
		}
	}
	t.Fatalf("there is no law %q", name)
	return law{}
}

// TestAtomicCases finds the operations that lack a case with a value there, or one
// without.
func TestAtomicCases(t *testing.T) {
	for _, op := range model.Operations() {
		for _, there := range []bool{false, true} {
			if !slices.ContainsFunc(atomicCases, func(c atomicCase) bool { return c.op == op && (c.existing != model.Absent) == there }) {
				t.Errorf("operation %d: no case where a value is there: %t", op, there)
			}
		}
	}
}

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
			fillRange(c, 10)
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
	want := fillRange(c, 3000)
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

// TestLedgerNamesLaws checks that the laws exist that stand in for recordings in
// the list of what the recordings prove.
func TestLedgerNamesLaws(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range lawGroups {
		groups[g.name] = true
	}
	ledger, err := os.ReadFile("../internal/replay/testdata/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`kvtest.RunConformance`: ([a-z]+(?:[ -][a-z]+)*)").FindAllSubmatch(ledger, -1)
	if len(named) < 10 {
		t.Errorf("the list names %d laws", len(named))
	}
	for _, law := range named {
		if !groups[string(law[1])] {
			t.Errorf("there is no group of laws %q", law[1])
		}
	}
}
