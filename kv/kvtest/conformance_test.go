// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
)

func TestConformanceOfTheNaiveEngine(t *testing.T) { RunConformance(t, openMemory) }

func TestDefaultsOfTheNaiveEngine(t *testing.T) { RunDefaults(t, openWithDefaults) }

func openWithDefaults(tb testing.TB, d kv.TransactionDefaults) kv.Database {
	tb.Helper()
	db := newNaive()
	db.defaults = d
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func TestDefaultsNoticeWrongEngines(t *testing.T) {
	for _, l := range defaultLaws {
		ignorant := func(tb testing.TB, _ kv.TransactionDefaults) kv.Database { return openMemory(tb) }
		if failures := record(t, func(tb testing.TB) { checkDefault(tb, l, ignorant, time.Second) }); len(failures) == 0 {
			t.Errorf("the law %q holds on an engine without defaults", l.name)
		}
	}
}

// forgottenDefaults is an engine that takes the defaults once: after OnError and
// Reset its transactions have the engine's own.
func TestDefaultsNoticeForgetting(t *testing.T) {
	for _, name := range []string{"a default retry limit bounds OnError", "a default size limit holds again after OnError and Reset", "conflicting keys are told by default, after OnError too"} {
		forgetful := func(tb testing.TB, d kv.TransactionDefaults) kv.Database {
			db := openWithDefaults(tb, d).(*naiveDB)
			return wrongDB{db, func(tx kv.Transaction) kv.Transaction {
				db.defaults = kv.TransactionDefaults{}
				return tx
			}}
		}
		i := slices.IndexFunc(defaultLaws, func(l defaultLaw) bool { return l.name == name })
		if i < 0 {
			t.Fatalf("there is no law %q", name)
		}
		if failures := record(t, func(tb testing.TB) { checkDefault(tb, defaultLaws[i], forgetful, time.Second) }); len(failures) == 0 {
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

// wrongEngines are faults, the law that must notice each, and a recording
// that must.
var wrongEngines = []struct {
	name   string
	spoil  func(kv.Transaction) kv.Transaction
	law    string
	golden string
}{
	{"no read conflicts", func(tx kv.Transaction) kv.Transaction { return noReadConflict{tx} }, "lost update: by reads and sets", "conflicts"},
	{"reads drift", func(tx kv.Transaction) kv.Transaction { return driftingReads{tx} }, "read skew: between two reads", ""},
	{"writes are dirty", func(tx kv.Transaction) kv.Transaction { return dirtyWrites{tx} }, "dirty read: of what is never committed", ""},
	{"selectors see no phantoms", func(tx kv.Transaction) kv.Transaction { return quietSelectors{tx} }, "phantom: before the key of a selector", ""},
	{"no phantoms", func(tx kv.Transaction) kv.Transaction { return noPhantom{tx} }, "phantom: in an empty range", "conflicts"},
	{"ranges end with their first batch", func(tx kv.Transaction) kv.Transaction { return lossyRange{tx} }, "modes, limits and directions give the same pairs", ""},
	{"absent keys are empty", func(tx kv.Transaction) kv.Transaction { return absentIsEmpty{tx} }, "an empty value is not an absent one", "ryw"},
	{"additions conflict", func(tx kv.Transaction) kv.Transaction { return addReads{tx} }, "two additions does not conflict", "conflicts"},
	{"watches never fire", func(tx kv.Transaction) kv.Transaction { return deafWatch{tx} }, "a watch fires after a change", ""},
	{"everything is retried", func(tx kv.Transaction) kv.Transaction { return eagerRetry{tx} }, "OnError returns what cannot be retried", ""},
	{"cleared ranges stay", func(tx kv.Transaction) kv.Transaction { return forgetfulClear{tx} }, "a transaction reads its own writes", "ryw"},
	{"snapshot reads conflict", func(tx kv.Transaction) kv.Transaction { return sharedSnapshot{tx} }, "a snapshot read does not conflict", "conflicts"},
	{"commits have the read version", func(tx kv.Transaction) kv.Transaction { return denseVersion{tx} }, "versions grow with commits", ""},
	{"writes are reads", func(tx kv.Transaction) kv.Transaction { return overeagerConflict{tx} }, "a blind write does not conflict", "conflicts"},
	{"sizes are not known", func(tx kv.Transaction) kv.Transaction { return noSizes{tx} }, "a range's size is estimated", ""},
	{"sizes do not shrink", func(tx kv.Transaction) kv.Transaction { return growingSizes{tx} }, "an estimate follows what is cleared and overwritten", ""},
	{"ranges are not split", func(tx kv.Transaction) kv.Transaction { return noSplits{tx} }, "split points divide a range into parts of about a size", ""},
	{"sizes are reads", func(tx kv.Transaction) kv.Transaction { return readingSizes{tx} }, "sizes neither conflict nor fix the read version", ""},
	{"conflicts are not told", func(tx kv.Transaction) kv.Transaction { return muteConflicts{tx} }, "a conflict tells the reads that others wrote to", ""},
	{"all reads are told as conflicts", func(tx kv.Transaction) kv.Transaction { return &allConflicts{Transaction: tx} }, "a conflict tells the reads that others wrote to", ""},
	{"conflicts are told unasked", func(tx kv.Transaction) kv.Transaction { return chattyConflicts{tx}.asking() }, "a conflict tells nothing unless the transaction asks", ""},
	{"conflicts are forgotten by OnError", func(tx kv.Transaction) kv.Transaction { return forgetsConflicts{tx} }, "conflicting keys stay until the next report", ""},
	{"arguments are used after the call", func(tx kv.Transaction) kv.Transaction { return keepsArguments{tx, new([][2][]byte)} }, "arguments are copied", ""},
}

func TestConformanceNoticesWrongEngines(t *testing.T) {
	for _, wrong := range wrongEngines {
		t.Run(wrong.name, func(t *testing.T) {
			l := findLaw(t, wrong.law)
			open := func(tb testing.TB) kv.Database { return wrongDB{openMemory(tb), wrong.spoil} }
			failures := record(t, func(tb testing.TB) { checkLaw(tb, l, open(tb), open, time.Second) })
			if len(failures) == 0 {
				t.Errorf("the law %q holds", wrong.law)
			}
			failures = record(t, func(tb testing.TB) { checkLaw(tb, l, openMemory(tb), openMemory, lawTimeout) })
			if len(failures) > 0 {
				t.Errorf("the law %q fails on the right engine: %s", wrong.law, failures)
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

// The naive engine is right about atomic operations, and nearly right about the
// rest: its conflict ranges are a little simpler than FoundationDB's.
func TestReplayOnTheNaiveEngine(t *testing.T) {
	for name, most := range map[string]int{"atomics": 0, "ryw": 40, "conflicts": 140} {
		if sum := replayAll(t, name, openMemory(t)); sum.total > most {
			t.Errorf("%s: %s", name, sum.String())
		}
	}
}

func TestReplayNoticesWrongEngines(t *testing.T) {
	onRight := map[string]*tally{} // by recording, since several engines are wrong about the same one
	for _, wrong := range wrongEngines {
		if wrong.golden == "" {
			continue
		}
		t.Run(wrong.name, func(t *testing.T) {
			sum := replayAll(t, wrong.golden, wrongDB{openMemory(t), wrong.spoil})
			right := onRight[wrong.golden]
			if right == nil {
				right = replayAll(t, wrong.golden, openMemory(t))
				onRight[wrong.golden] = right
			}
			if sum.total <= right.total || sum.total == sum.run {
				t.Errorf("%d of %d scenarios differ, %d on the right engine", sum.total, sum.run, right.total)
			}
			if text := sum.String(); !strings.Contains(text, "scenarios differ") || !strings.Contains(text, "want") {
				t.Errorf("the summary says nothing: %s", text)
			}
		})
	}
}

// replayAll replays a recording without failing the test.
func replayAll(t *testing.T, name string, db kv.Database) *tally {
	t.Helper()
	scenarios, err := decodeScenarios(goldens.Trace(t, name), name)
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	for i := range scenarios {
		sum.run++
		sum.add(runScenario(t.Context(), db, &scenarios[i]))
	}
	return &sum
}
