// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"os"
	"regexp"
	"testing"
)

// TestLedgerNamesLaws checks that the laws exist that stand in for recordings in
// the list of what the recordings prove.
func TestLedgerNamesLaws(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range lawGroups {
		groups[g.name] = true
	}
	ledger, err := os.ReadFile("replay/testdata/coverage.md")
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
