// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestLayoutOfTenants makes what docs/layout.md shows and compares every key and value
// beside the tenant's directory.
func TestLayoutOfTenants(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	someOrders(t, db, "a", 3)
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "export"))
	d := must[*directory.Directory](t)(directory.Root().Open(ctx, db.Engine(), all.Path("a")))
	owned := d.Annotation("kazahana").Bytes()
	node := owned[:len(owned)-len("\x02annotation\x00\x02kazahana\x00")]
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db.Engine(), func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(owned).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	var got []string
	for _, pair := range pairs {
		got = append(got, "<node>"+hex.EncodeToString(pair.Key[len(node):])+"="+hex.EncodeToString(pair.Value))
	}
	used := binary.LittleEndian.AppendUint64(nil, uint64(recount(t, db, "tenants", "a").Bytes))
	known := strings.NewReplacer("<lock>", hex.EncodeToString([]byte(lock.ID)), "<bytes>", hex.EncodeToString(used))
	if diff := cmp.Diff(strings.Split(known.Replace(documented(t)), ";"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documented returns the pairs of the document's block, without spaces and comments.
func documented(t *testing.T) string {
	t.Helper()
	_, block, found := strings.Cut(string(must[[]byte](t)(os.ReadFile("../../docs/layout.md"))), "```tenant\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of tenants")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	return strings.TrimSuffix(regexp.MustCompile(`\s+`).ReplaceAllString(block, ""), ";")
}
