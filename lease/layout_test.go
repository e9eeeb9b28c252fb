// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestLayoutDocument executes docs/layout.md: a lease that was acquired under the
// request key "boot-1" and released, and what the store then holds.
func TestLayoutDocument(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1000)
	store := memory.NewStore(func() time.Time { return now })
	layout := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 2, SequenceBits: 5}
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

// TestFormats reads the records of leases that earlier versions wrote, and writes them.
func TestFormats(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1000)
	open := func(t *testing.T, example string) (lease.Store, *lease.Server) {
		store := memory.NewStore(func() time.Time { return now })
		err := store.Update(t.Context(), lease.DefaultService, func(tx lease.Tx) error {
			for line := range strings.Lines(example) {
				key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
				k, err := hex.DecodeString(key)
				if err != nil {
					return err
				}
				tx.Set(k, []byte(value))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		layout := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 2, SequenceBits: 5}
		server, err := lease.NewServer(store, lease.Options{Fresh: true, Default: lease.ServiceConfig{Layout: layout}})
		if err != nil {
			t.Fatal(err)
		}
		return store, server
	}
	formats.Check(t, formats.Format{
		Name: "lease/records",
		Write: func(t *testing.T) (example string) {
			store, server := open(t, "")
			for _, key := range []string{"boot-1", "boot-2"} {
				leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{RequestKey: key, Meta: map[string]string{"host": "a"}})
				if err == nil && key == "boot-2" {
					err = server.Release(t.Context(), leases[0].Release("", leases[0].Created+9, now))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			err := store.Update(t.Context(), lease.DefaultService, func(tx lease.Tx) error {
				pairs, err := tx.Scan(t.Context(), []byte{0}, []byte{0xff}, 100)
				for _, pair := range pairs {
					example += fmt.Sprintf("%x = %s\n", pair.Key, pair.Value)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return example
		},
		Mask: func(_ *testing.T, example string) string {
			random := regexp.MustCompile(`"(secret|incarnation)":"[0-9a-f]{32}"`)
			return regexp.MustCompile(`= 1[0-9a-f]{8} `).ReplaceAllString(random.ReplaceAllString(example, `"$1":"…"`), "= 1<crc> ")
		},
		Read: func(t *testing.T, example string) {
			_, server := open(t, example)
			again, err := server.Acquire(t.Context(), idgen.AcquireRequest{RequestKey: "boot-1"})
			if err != nil || len(again) != 1 {
				t.Fatalf("the lease of a request is not given again: %v, %v", again, err)
			}
			secret := regexp.MustCompile(`"secret":"([0-9a-f]{32})","request":"b6f547b605f770b635a2d5b396a9c652"`).FindStringSubmatch(example)
			if l := again[0]; l.Created != now.UnixMilli() || l.Expired != now.UnixMilli()+600_000 || len(secret) != 2 || !strings.Contains(example, "000000 = ") {
				t.Errorf("the lease is %+v", l)
			}
			if err := server.Release(t.Context(), again[0].Release("", again[0].Created+9, now)); err != nil {
				t.Errorf("the lease is not the example's: %v", err)
			}
			if next, err := server.Acquire(t.Context(), idgen.AcquireRequest{RequestKey: "boot-3"}); err != nil || len(next) != 1 {
				t.Errorf("the next lease: %v, %v", next, err)
			}
		},
	})
}
