// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// TestDescriptors: a kind says how writes, builds and verifications keep it. What it leaves
// out they pass over without a word: then an index is built, and stays empty.
func TestDescriptors(t *testing.T) {
	words, letters := []Kind{}, []string{"I", "R", "S"} // those of entries, records and the store
	for _, d := range descriptors {
		fault := func(bad bool, text string) {
			if bad {
				t.Errorf("the kind %q %s", d.kind, text)
			}
		}
		fault(slices.Contains(words, d.kind), "is there twice")
		fault(d.letter != "" && slices.Contains(letters, d.letter), "has a letter that other keys have")
		words, letters = append(words, d.kind), append(letters, d.letter)
		fault(d.fill == nil, "is not built: it has no fill")
		fault(d.verify != nil && d.letter == "", "verifies keys and has no letter for them")
		if d.kind == Version {
			continue // entries and keys are written and compared by code of its own
		}
		fault((d.maintain == nil) == (d.update == nil), "needs either maintain or update, for writes")
		fault(d.hasEntries == d.hasTotals, "needs either entries or totals, which are compared with the records")
		fault(d.letter != "" && d.verify == nil, "has a letter, and nothing compares its keys")
		fault(d.verify != nil && !d.hasEntries, "verifies keys that follow from entries, and has none")
		fault(d.update != nil && !d.idempotent, "updates entries, which a build may find there, and is not idempotent")
	}
}

// TestResetClaimsLetGo: claims that are used again keep no future. It would keep its transaction in
// memory, and with that what the transaction has read.
func TestResetClaimsLetGo(t *testing.T) {
	var c Claims
	for range 3 {
		c.reads = append(c.reads, claim{owner: kv.Resolved([]byte("owner"), nil)})
	}
	c.Reset()
	for i, left := range c.reads[:3] {
		if value, _ := left.owner.Get(t.Context()); value != nil {
			t.Errorf("claim %d keeps the future of %q", i, value)
		}
	}
}
