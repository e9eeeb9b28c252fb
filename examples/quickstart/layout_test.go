// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestLayoutDocument saves the order of docs/layout.md and compares every key
// and value of its directory with the bytes that the document shows.
func TestLayoutDocument(t *testing.T) {
	ctx := t.Context()
	engine := enginetest.Open(t)
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := NewOrder(Order{TenantID: "tenant-1", Number: "A-1001", Status: Paid, CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Amount: 1000})
	if err := OrderStoreOf(db, "tenant-1").CreateWithID(ctx, 0x0102030405060708, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documented(t), stored(ctx, t, engine)); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documented returns the pairs of the document's block, without spaces and
// comments: "key = value" in hex.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```layout\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no layout block")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

// stored returns the pairs below the directory of tenant-1's orders, in order.
func stored(ctx context.Context, t *testing.T, engine kv.Database) []string {
	t.Helper()
	dir, err := directory.Root().Open(ctx, engine, []string{"tenants", "tenant-1", "orders"})
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := dir.Prefix()
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := kv.ReadTransact(ctx, engine, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, pair := range pairs {
		value := hex.EncodeToString(pair.Value)
		if strings.HasPrefix(string(pair.Key[len(prefix):]), "\x02R\x00") {
			value = value[:4] + "<token>" + value[20:] // eight random bytes
		}
		all = append(all, "<dir>"+hex.EncodeToString(pair.Key[len(prefix):])+"="+value)
	}
	return all
}
