// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// TestKindsLayoutDocument saves the sale of docs/layout.md and compares every entry and
// the header with the bytes shown there.
func TestKindsLayoutDocument(t *testing.T) {
	db := open(t, enginetest.Open(t))
	check(t, SaleStoreOf(db).Create(ctx, &Sale{
		ID: "s", Status: Paid, Country: "JP", Tags: []string{"new", "new"}, Amount: 1000, Units: 3, Editor: ptr("ann"),
		CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Discount: ptr(int64(-5)), Code: ptr("A1"),
	}))
	prefix := string(prefixOf(t, db, "sales"))
	var got []string
	for key, value := range dump(t, db) {
		if rest, below := strings.CutPrefix(key, prefix); below && !strings.HasPrefix(rest, "\x02R\x00") {
			got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+hex.EncodeToString(value))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(documentedBlock(t, "kinds"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestKindsLayoutsAreParsed: the header's texts say all of the definitions.
func TestKindsLayoutsAreParsed(t *testing.T) {
	for _, d := range saleIndexes() {
		parsed, err := index.ParseLayout(d.KeyName(), d.Layout())
		if diff := cmp.Diff(d, parsed); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", d.Layout(), err, diff)
		}
	}
}

// documentedBlock returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key = value" in hex.
func documentedBlock(t *testing.T, name string) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```"+name+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %s", name)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
