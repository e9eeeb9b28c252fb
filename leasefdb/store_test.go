// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestStore runs the suite that all stores of leases pass, on the engine as it
// is and on the hostile one, without its delays.
func TestStore(t *testing.T) {
	engines := map[string]func(kv.Database) kv.Database{"plain": func(db kv.Database) kv.Database { return db }}
	if !testing.Short() {
		engines["hostile"] = func(db kv.Database) kv.Database {
			return faults.Hostile(db, faults.Options{Seed: seed.Of(t), MaxDelay: -1, Faults: 1})
		}
	}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			db := lossyDatabase{engine(enginetest.Open(t))}
			leasetest.Run(t, leasetest.Suite{Open: func(t *testing.T, name string) lease.Store {
				return must[*leasefdb.Store](t)(leasefdb.NewStore(db, leasefdb.Options{Path: []string{"leases", name}}))
			}})
		})
	}
}

// lossyDatabase is a database that loses no acknowledgements. The suite's
// requests are mostly without a key, and then each lost reply is one lease
// more: TestLostReply is about those.
type lossyDatabase struct{ kv.Database }

func (a lossyDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return a.Database.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAutomaticIdempotency, 0); err != nil {
			return err
		}
		return fn(tx)
	})
}

// TestErrorsOfTheFunction checks that the function's own error is returned and
// nothing changed, and that the engine's errors pass through it.
func TestErrorsOfTheFunction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		store := must[*leasefdb.Store](t)(leasefdb.NewStore(db, leasefdb.Options{}))
		boom := errors.New("boom")
		runs := 0
		err := store.Update(ctx, "s", func(tx lease.Tx) error {
			tx.Set([]byte("k"), []byte("v"))
			if runs++; runs < 3 {
				return kv.NewError(kv.CodeNotCommitted, "made up")
			}
			return boom
		})
		wantError(t, err, boom)
		if runs < 3 {
			t.Errorf("the function ran %d times: a retryable error runs it again", runs)
		}
		check(t, store.Update(ctx, "s", func(tx lease.Tx) error {
			values, err := tx.Get(ctx, []byte("k"))
			if err == nil && values[0] != nil {
				t.Error("a failed update was written")
			}
			return err
		}))
	})
}

// TestNamesLayoutDocument makes what docs/layout.md shows and compares every
// key and value of the directory.
func TestNamesLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	storeNames(t, db)
	if diff := cmp.Diff(documented(t, "names"), stored(t, db, "kazahana", "names")); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// storeNames grants the names of the document.
func storeNames(t *testing.T, db kv.Database) {
	t.Helper()
	names := openNames(t, db)
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "invoices", leasefdb.Claim{
		Holder: "host-1", RequestID: "request-1", Duration: 15 * time.Second,
	}))
	must[leasefdb.Grant](t)(g.Renew(ctx, db))
	freed := must[leasefdb.Grant](t)(names.Claim(ctx, db, "free", leasefdb.Claim{}))
	check(t, freed.Release(ctx, db))
}

// TestFormats reads names that earlier versions granted, and grants them.
func TestFormats(t *testing.T) {
	layer := contents.Layer{
		Name:  "leasefdb/names",
		Open:  enginetest.Open,
		Write: storeNames,
		Read: func(t *testing.T, db kv.Database) {
			names := openNames(t, db)
			again := must[leasefdb.Grant](t)(names.Claim(ctx, db, "invoices", leasefdb.Claim{
				Holder: "host-1", RequestID: "request-1", Duration: 15 * time.Second,
			}))
			check(t, again.Release(ctx, db))
			for _, name := range []string{"invoices", "free"} {
				next := must[leasefdb.Grant](t)(names.Claim(ctx, db, name, leasefdb.Claim{Holder: "host-2"}))
				if again.Epoch != 1 || next.Epoch != 2 {
					t.Errorf("%s was granted under the epochs %d and %d, want 1 and 2", name, again.Epoch, next.Epoch)
				}
			}
		},
	}
	formats.Check(t, layer.Format(), leasesLayer().Format())
}

// leasesLayer is what a provider stores. The records are those of package lease.
func leasesLayer() *contents.Layer {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1000)
	var o leasefdb.Options
	o.Now = func() time.Time { return now }
	o.Lease.Default.Layout = idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 2, SequenceBits: 5}
	acquire := func(t *testing.T, db kv.Database) (*leasefdb.Provider, idgen.Lease) {
		p := must[*leasefdb.Provider](t)(leasefdb.New(db, o))
		return p, must[[]idgen.Lease](t)(p.Acquire(ctx, idgen.AcquireRequest{}))[0]
	}
	random := regexp.MustCompile(`(= 31)(?:3\d|6[1-6]){8}(20)|22(?:3\d|6[1-6]){32}22`) // checksums, incarnations and secrets
	return &contents.Layer{
		Name:  "leasefdb/leases",
		Open:  enginetest.Open,
		Write: func(t *testing.T, db kv.Database) { acquire(t, db) },
		Mask:  func(line string) string { return random.ReplaceAllString(line, "$1<random>$2") },
		Read: func(t *testing.T, db kv.Database) {
			p, next := acquire(t, db)
			page := must[lease.Page](t)(p.List(ctx, "", lease.ListOptions{}))
			if len(page.Leases) != 2 || page.Leases[0].ID == next.ID {
				t.Fatalf("the leases are %+v; the new one is %+v", page, next)
			}
			if l := page.Leases[0]; l.ID != 0 || !l.Created.Equal(now) || l.Expired.Sub(now) != 10*time.Minute || !l.Active {
				t.Errorf("the lease is %+v", l)
			}
		},
	}
}

// documented returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key=value" in hex.
func documented(t *testing.T, label string) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```"+label+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %q", label)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

// prefixOf returns the prefix of a directory.
func prefixOf(t *testing.T, db kv.Database, path ...string) []byte {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, path))
	return must[[]byte](t)(dir.Prefix())
}

// stored returns the pairs of a directory.
func stored(t *testing.T, db kv.Database, path ...string) (all []string) {
	t.Helper()
	prefix := prefixOf(t, db, path...)
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		all = append(all, "<dir>"+hex.EncodeToString(pair.Key[len(prefix):])+"="+hex.EncodeToString(pair.Value))
	}
	return all
}

// FuzzStoredName checks that any stored bytes of a name are either a state or an
// ErrState, for every reader.
func FuzzStoredName(f *testing.F) {
	for _, seed := range []string{"", "\x15\x01", "\x15\x02", "\x15\x01\x15\x05\x02me\x00\x02r\x00\x15\x01", "\x15\x01\x15\x05\x02\x00\x02\x00\x14", "\xff\x00", "\x15\x01\x14\x02\x00\x02\x00\x14"} {
		f.Add([]byte(seed))
	}
	db := enginetest.Open(f)
	names := openNames(f, db)
	g := must[leasefdb.Grant](f)(names.Claim(ctx, db, "job", leasefdb.Claim{Holder: "first"}))
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) > kv.MaxValueSize {
			return
		}
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(g.Fence().Key(), value); return nil }))
		state, err := names.Get(ctx, db, "job")
		if err != nil && !errors.Is(err, leasefdb.ErrState) {
			t.Fatalf("Get: %v", err)
		}
		next, claimErr := names.Claim(ctx, db, "job", leasefdb.Claim{Holder: "next"})
		switch {
		case err != nil && !errors.Is(claimErr, leasefdb.ErrState):
			t.Fatalf("Get says %v, Claim %v", err, claimErr)
		case err == nil && state.Held() && !errors.Is(claimErr, leasefdb.ErrHeld):
			t.Fatalf("a claim of %+v: %v", state, claimErr)
		case err == nil && !state.Held() && next.Epoch != state.Epoch+1:
			t.Fatalf("a claim of %+v got epoch %d: %v", state, next.Epoch, claimErr)
		}
		if claimErr == nil && g.Check(ctx, begin(t, db)) == nil {
			t.Fatal("the fence of the first holder still holds")
		}
	})
}
