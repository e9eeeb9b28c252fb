// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

var (
	ctx  = context.Background()
	day0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
)

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		runChild(task, os.Getenv(childDir))
		return
	}
	os.Exit(m.Run())
}

func open(t testing.TB, engine kv.Database) *persistable.DB {
	t.Helper()
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Log(err)
		}
	})
	return db
}

// onEngines runs a test on the engine as it is, and on the hostile one, which retries
// everything, loses acknowledgements and answers late.
func onEngines(t *testing.T, test func(t *testing.T, db *persistable.DB)) {
	t.Run("plain", func(t *testing.T) { test(t, open(t, enginetest.Open(t))) })
	t.Run("hostile", func(t *testing.T) { test(t, open(t, faults.HostileT(t, enginetest.Open(t)))) })
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want a %T", err, e)
	}
	return e
}

func sound(t testing.TB, verify func(context.Context) (persistable.Report, error)) persistable.Report {
	t.Helper()
	report := must[persistable.Report](t)(verify(ctx))
	for _, f := range report.Faults {
		t.Error(f)
	}
	return report
}

// someOrders creates n orders of a tenant.
func someOrders(t testing.TB, db *persistable.DB, tenant string, n int) (all []*Order) {
	t.Helper()
	s := OrderStoreOf(db, tenant)
	for i := range n {
		o := s.New(Order{Number: fmt.Sprintf("%04d", i), Status: OrderStatus(i % 3), CreatedAt: day0.AddDate(0, 0, i/3), Amount: int64(i)})
		check(t, s.Create(ctx, o))
		all = append(all, o)
	}
	return all
}

// someNotes creates n notes of a room, some of which have several chunks.
func someNotes(t testing.TB, s *NoteStore, room string, n int) {
	t.Helper()
	for i := range n {
		size := 100
		if i%5 == 4 {
			size = 150_000
		}
		check(t, s.Save(ctx, &Note{ID: int64(i + 1), Room: room, Title: fmt.Sprint("title ", i%4), Body: bytes.Repeat([]byte{byte(i)}, size)}))
	}
}

// contents returns all pairs in the directory at path and in those below it, with keys
// relative to their directories, and "layer" for each directory.
func contents(t testing.TB, db *persistable.DB, path ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		clear(all)
		return addContents(tx, all, path, len(path))
	}))
	return all
}

func addContents(tx kv.ReadTransaction, all map[string]string, path []string, cut int) error {
	d, err := directory.Root().Open(ctx, tx, path)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%q", path[cut:])
	all[name+" layer"] = d.Layer()
	if prefix, err := d.Prefix(); err == nil {
		for pair, err := range tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			all[name+string(pair.Key[len(prefix):])] = string(pair.Value)
		}
	}
	names, err := directory.Root().List(ctx, tx, path)
	for _, sub := range names {
		err = errors.Join(err, addContents(tx, all, append(slices.Clone(path), sub), cut))
	}
	return err
}

// equal compares the contents of two directories.
func equal(t testing.TB, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contents (-want +got):\n%.2000s", diff)
	}
	if len(want) < 2 {
		t.Error("there is nothing to compare")
	}
}

// keys returns how many keys the database has in directories: what the allocator of
// directories remembers lies behind them.
func keys(t testing.TB, db *persistable.DB) (n int) {
	t.Helper()
	check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		n = 0
		for _, err := range tx.GetRange(kv.KeyRange{End: []byte{0xfe}}.Selectors(), kv.RangeOptions{}).All(ctx) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	}))
	return n
}

func names(t testing.TB, s *tenants.Set) (all []string) {
	t.Helper()
	for name, err := range s.List(ctx) {
		check(t, err)
		all = append(all, name)
	}
	return all
}
