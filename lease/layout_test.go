// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestLayoutDocument executes docs/layout.md: a lease that was acquired under the
// request key "boot-1" and released, and what the store then holds.
func TestLayoutDocument(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpochMs + 1000)
	store := memory.NewStore(func() time.Time { return now })
	layout := idgen.Layout{CustomEpochMs: idgen.DefaultCustomEpochMs, BitReserve: 16, BitTs: 41, BitID: 2, BitSeq: 5}
	server, err := lease.NewServer(store, lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: layout}})
	if err != nil {
		t.Fatal(err)
	}
	leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{RequestKey: "boot-1", Meta: map[string]string{"host": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	got := "# acquired\n" + contents(t, store)
	if err := server.Release(t.Context(), leases[0].Release("", leases[0].Created+9, now)); err != nil {
		t.Fatal(err)
	}
	got += "\n# released, used until ….601009\n" + contents(t, store)
	text, err := os.ReadFile("../docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	_, want, found := strings.Cut(string(text), "```leases\n")
	if !found {
		t.Fatal("docs/layout.md has no block of leases")
	}
	want, _, _ = strings.Cut(want, "```")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/layout.md (-want +got):\n%s\nthe whole of it:\n%s", diff, got)
	}
}

// contents lists what the store holds for the default service, with what is
// random left out.
func contents(t *testing.T, store lease.Store) string {
	t.Helper()
	var text strings.Builder
	err := store.Update(t.Context(), lease.DefaultService, func(tx lease.Tx) error {
		pairs, err := tx.Scan(t.Context(), []byte{0}, []byte{0xff}, 100)
		for _, pair := range pairs {
			fmt.Fprintf(&text, "%s\n    = %s\n", strings.TrimSpace(fmt.Sprintf("%02x %x", pair.Key[0], pair.Key[1:])), pair.Value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	random := regexp.MustCompile(`"(secret|incarnation)":"[0-9a-f]{32}"`)
	checksum := regexp.MustCompile(`= 1[0-9a-f]{8} `)
	return checksum.ReplaceAllString(random.ReplaceAllString(text.String(), `"$1":"<32 hexadecimal digits>"`), "= 1<crc> ")
}
