// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/record"
)

func TestConformanceOfTheNaiveEngine(t *testing.T) { RunConformance(t, naive.Open) }

func TestDefaultsOfTheNaiveEngine(t *testing.T) { RunDefaults(t, naive.OpenWith) }

func TestDefaultsNoticeWrongEngines(t *testing.T) {
	for _, l := range defaultLaws {
		ignorant := func(tb testing.TB, _ kv.TransactionDefaults) kv.Database { return naive.Open(tb) }
		if failures := record.Failures(t, func(tb testing.TB) { checkDefault(tb, l, ignorant, time.Second) }); len(failures) == 0 {
			t.Errorf("the law %q holds on an engine without defaults", l.name)
		}
	}
}

// TestDefaultsNoticeForgetting checks an engine that uses the defaults for its
// first transaction only.
func TestDefaultsNoticeForgetting(t *testing.T) {
	for _, name := range []string{"a default retry limit bounds OnError", "a default size limit holds again after OnError and Reset", "conflicting keys are told by default, after OnError too"} {
		forgetful := func(tb testing.TB, d kv.TransactionDefaults) kv.Database {
			return naive.OpenFaultyWith(tb, "defaults are forgotten", d)
		}
		i := slices.IndexFunc(defaultLaws, func(l defaultLaw) bool { return l.name == name })
		if i < 0 {
			t.Fatalf("there is no law %q", name)
		}
		if failures := record.Failures(t, func(tb testing.TB) { checkDefault(tb, defaultLaws[i], forgetful, time.Second) }); len(failures) == 0 {
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
