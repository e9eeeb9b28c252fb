// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// TestLayoutDocument makes what docs/layout.md shows and compares every key and value
// of the directory.
func TestLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	storePlacements(t, db)
	prefix := prefixOf(t, db)
	var stored []string
	for _, pair := range pairs(t, db) {
		stored = append(stored, "<dir>"+hex.EncodeToString(pair.Key[len(prefix):])+"="+hex.EncodeToString(pair.Value))
	}
	if diff := cmp.Diff(documented(t, "placement"), stored); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// storePlacements places the actors of the document.
func storePlacements(t *testing.T, db kv.Database) {
	t.Helper()
	s := open(t, db)
	bank := placement.Owner{Name: "bank-1", Incarnation: 4}
	c := core.TryAcquire{RequestID: 7, Key: alice, Owner: bank, Address: "10.0.0.1:80", Topology: 12}
	lease := must[core.Lease](t)(s.TryAcquire(ctx, c))
	check(t, s.Store(ctx, lease, core.ActivationEntry{
		Owner: bank, Address: c.Address, Epoch: lease.Epoch, Topology: 12, ObservedAt: time.Unix(1767225600, 0),
		Record: core.ActivationRecord{PID: "p1", Snapshot: []byte("hi"), Version: 3},
	}))
	c.Key.ID, c.RequestID = "bob", 8
	lease = must[core.Lease](t)(s.TryAcquire(ctx, c))
	check(t, s.Remove(ctx, c.Key, bank, lease.Epoch))
}

// TestFormats reads placements that earlier versions stored, and stores them.
func TestFormats(t *testing.T) {
	layer := contents.Layer{
		Name:  "placement/records",
		Open:  enginetest.Open,
		Write: storePlacements,
		Read: func(t *testing.T, db kv.Database) {
			s := open(t, db)
			got, err := s.Load(ctx, alice)
			want := &core.ActivationEntry{
				Owner: placement.Owner{Name: "bank-1", Incarnation: 4}, Address: "10.0.0.1:80", Epoch: 1, Topology: 12, ObservedAt: time.Unix(1767225600, 0),
				Record: core.ActivationRecord{PID: "p1", Snapshot: []byte("hi"), Version: 3},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("alice (-want +got): %v\n%s", err, diff)
			}
			bob := alice
			bob.ID = "bob"
			c := core.TryAcquire{RequestID: 9, Key: bob, Owner: want.Owner, Address: "10.0.0.1:80", Topology: 12}
			if lease := must[core.Lease](t)(s.TryAcquire(ctx, c)); lease.Epoch != 2 {
				t.Errorf("bob is placed under the epoch %d, want 2", lease.Epoch)
			}
		},
	}
	formats.Check(t, layer.Format())
}

// documented returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key=value" in hex.
func documented(t *testing.T, label string) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../../../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```"+label+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %q", label)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
