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

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// TestScatteredLayoutDocument saves the scattered order of docs/layout.md and
// compares every key and value of its directory with the bytes shown there.
func TestScatteredLayoutDocument(t *testing.T) {
	schema := &persistimpl.Schema{
		Type: "Order", Directory: orderSchema.Directory, Scatter: 256, Lock: orderSchema.Lock,
		IDs: orderSchema.IDs, ID: orderSchema.ID, CheckArgs: orderSchema.CheckArgs, FillArgs: orderSchema.FillArgs,
		Encode: orderSchema.Encode, Decode: orderSchema.Decode, Known: orderSchema.Known,
		Indexes: slices.Clone(orderSchema.Indexes), Entries: orderSchema.Entries,
	}
	scatterIndexes(schema.Indexes, 16)
	db := open(t, enginetest.Open(t))
	s := persistimpl.NewStore[*Order, idgen.ID](db, schema, "tenant-1")
	o := NewOrder(Order{TenantID: "tenant-1", Number: "A-1001", Status: Paid, CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Amount: 1000})
	check(t, s.CreateWithID(ctx, 0x0102030405060708, o))
	prefix := string(prefixOf(t, db, "tenants", "tenant-1", "orders"))
	var got []string
	for key, value := range dump(t, db) {
		rest, below := strings.CutPrefix(key, prefix)
		if !below {
			continue
		}
		text := hex.EncodeToString(value)
		if strings.HasPrefix(rest, "\x02R\x00") {
			text = text[:4] + "<token>" + text[20:] // eight random bytes
		}
		got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+text)
	}
	slices.Sort(got)
	if diff := cmp.Diff(documentedScattered(t), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documentedScattered returns the pairs of the document's block, without spaces
// and comments: "key = value" in hex.
func documentedScattered(t *testing.T) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```scattered\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of a scattered record")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
