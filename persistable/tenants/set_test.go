// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
	"github.com/kazahana-db/kazahana/tuple"
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

// wantError checks that err is target, with all texts in its own.
func wantError(t testing.TB, err, target error, texts ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want %q in it", err, text)
		}
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

func sound(t testing.TB, verify func(context.Context, persistable.VerifyOptions) (persistable.Report, error)) persistable.Report {
	t.Helper()
	report := must[persistable.Report](t)(verify(ctx, persistable.VerifyOptions{}))
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
// directories remembers lies after them.
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

// A name, a lock or a quota that cannot be read hides no other tenant.
func TestListPassesOverWhatIsUnreadable(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	for _, name := range []string{"a", "b", "c"} {
		someOrders(t, db, name, 1)
	}
	lock := must[tenants.Lock](t)(all.Lock(ctx, "c", "seen"))
	set := must[*directory.Directory](t)(db.Layer().Open(ctx, db.Engine(), []string{"tenants"}))
	damaged := must[*directory.Directory](t)(db.Layer().Open(ctx, db.Engine(), []string{"tenants", "b"}))
	link := slices.Concat([]byte{0xfe}, tuple.AppendInt(tuple.AppendBytes(nil, set.Reserve().Begin), 0), []byte("\x02b\x00torn"))
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		tx.Set(link, []byte{0x15, 0x01})
		tx.Set(damaged.Annotation("kazahana").Sub("settings").Bytes(), []byte("damaged"))
		return nil
	}))
	var got []string
	var last error
	for name, err := range all.List(ctx) {
		if last = err; err == nil {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) || !errors.Is(last, tenants.ErrUnreadable) {
		t.Errorf("the tenants are %q, then %v", got, last)
	}
	page, err := all.Page(ctx, "a", 2)
	if !slices.Equal(page, []string{"b", "c"}) || !errors.Is(err, tenants.ErrUnreadable) {
		t.Errorf("a page is %q, %v", page, err)
	}
	_, _, err = all.LockOf(ctx, "b")
	wantError(t, err, tenants.ErrUnreadable)
	wantError(t, second(all.Usage(ctx, "b")), tenants.ErrUnreadable)
	if found, _, err := all.LockOf(ctx, "c"); found != lock || err != nil {
		t.Errorf("LockOf = %v, %v", found, err)
	}
}

func TestListByPages(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		if got := names(t, all); len(got) != 0 {
			t.Errorf("an empty set has %v", got)
		}
		var want []string
		for i := range 7 {
			want = append(want, fmt.Sprintf("t%d", i))
			someOrders(t, db, want[i], 1)
		}
		if diff := cmp.Diff(want, names(t, all)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		for size := 1; size <= 8; size++ {
			var got []string
			after := ""
			for {
				page := must[[]string](t)(all.Page(ctx, after, size))
				if got = append(got, page...); len(page) < size {
					break
				}
				after = page[len(page)-1]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", size, diff)
			}
		}
		if n := must[int64](t)(all.Count(ctx)); n != 7 {
			t.Errorf("Count = %d", n)
		}
		if _, err := all.Page(ctx, "", 0); err == nil {
			t.Error("a page of 0 names is no error")
		}
	})
}

// The directory that the database itself needs is not a tenant: neither in the root, nor
// in a partition that has tenants directly in it.
func TestWorkIsNoTenant(t *testing.T) {
	for _, parent := range [][]string{nil, {"customers"}} {
		db := open(t, enginetest.Open(t))
		if parent != nil {
			_, err := directory.Root().Create(ctx, db.Engine(), parent, directory.As(directory.Partition))
			check(t, err)
		}
		all := tenants.Of(db, parent...)
		for _, name := range []string{"a", "z"} {
			_, err := directory.Root().Create(ctx, db.Engine(), all.Path(name))
			check(t, err)
		}
		check(t, all.Delete(ctx, "z"))
		for limit := 2; limit < 4; limit++ { // the directory would fill the page of two
			if got := must[[]string](t)(all.Page(ctx, "", limit)); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("a page of %d has %q", limit, got)
			}
		}
		if got := must[[]string](t)(all.Page(ctx, "a", 1)); len(got) != 0 {
			t.Fatalf("the page behind the last name has %q", got)
		}
		if diff := cmp.Diff([]string{"a"}, names(t, all)); diff != "" {
			t.Errorf("%q: names (-want +got):\n%s", parent, diff)
		}
		for _, err := range []error{
			all.Delete(ctx, "kazahana"), all.Move(ctx, "kazahana", "b"), all.Move(ctx, "a", "kazahana"),
			second(all.Copy(ctx, "a", "kazahana", tenants.CopyOptions{})),
		} {
			wantError(t, err, tenants.ErrName, "database itself")
		}
		if n := must[int64](t)(all.Count(ctx)); n != 1 {
			t.Errorf("Count = %d", n)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// No name leads out of the set, and names that look alike are different tenants.
func TestNamesAreBytes(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	alike := []string{"..", "a/b", "a", "/", ".", "A", "é", "e\u0301", "a\x00b", "\u202ea", "a\u200b", strings.Repeat("x", 4096), "{TenantID}"}
	for i, name := range alike {
		someOrders(t, db, name, i+1)
	}
	for i, name := range alike {
		to := name + "/.."
		if len(to) > 4096 {
			continue
		}
		before := contents(t, db, all.Path(name)...)
		check(t, all.Move(ctx, name, to))
		check(t, second(all.Copy(ctx, to, name, tenants.CopyOptions{})))
		equal(t, before, contents(t, db, all.Path(name)...))
		check(t, all.Delete(ctx, to))
		if n := must[int](t)(OrderStoreOf(db, name).Scan().Count(ctx)); n != i+1 {
			t.Errorf("%q has %d records, want %d", name, n, i+1)
		}
	}
	if n := must[int64](t)(all.Count(ctx)); n != int64(len(alike)) {
		t.Errorf("%d tenants, want %d", n, len(alike))
	}
	for _, bad := range []string{"", "\xff", strings.Repeat("x", 4097)} {
		for verb, err := range map[string]error{
			"Delete": all.Delete(ctx, bad), "Move from": all.Move(ctx, bad, "b"), "Move to": all.Move(ctx, "a", bad),
			"Copy from": second(all.Copy(ctx, bad, "b", tenants.CopyOptions{})), "Copy to": second(all.Copy(ctx, "a", bad, tenants.CopyOptions{})),
			"Export": second(all.Export(ctx, bad, nil, tenants.ExportOptions{})), "Import": second(all.Import(ctx, bad, nil, tenants.ImportOptions{})),
			"Lock": second(all.Lock(ctx, bad, "")), "SetQuota": all.SetQuota(ctx, bad, tenants.Quota{Records: 1}),
			"Exists": second(all.Exists(ctx, bad)), "Size": second(all.ApproximateSize(ctx, bad)), "Abandon": all.Abandon(ctx, bad),
		} {
			if !errors.Is(err, tenants.ErrName) || strings.HasSuffix(err.Error(), `" `) {
				t.Errorf("%s: %v", verb, err)
			}
		}
	}
	for _, pair := range [][2]string{{"a", "a"}, {"missing", "b"}} {
		if err := all.Move(ctx, pair[0], pair[1]); err == nil {
			t.Errorf("Move(%q) is no error", pair)
		}
		if err := second(all.Copy(ctx, pair[0], pair[1], tenants.CopyOptions{})); err == nil {
			t.Errorf("Copy(%q) is no error", pair)
		}
	}
	wantError(t, all.Move(ctx, "a", "A"), tenants.ErrExists)
	wantError(t, second(all.Copy(ctx, "a", "A", tenants.CopyOptions{})), tenants.ErrExists)
}

func TestApproximateSize(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someOrders(t, db, "small", 3)
	someNotes(t, NoteStoreOf(db, "large"), "large", 100) // 20 of 150 kB, in record and covering index
	if n := must[int64](t)(tenants.Of(db, "rooms").ApproximateSize(ctx, "large")); n < 2_000_000 || n > 8_000_000 {
		t.Errorf("the large tenant has %d bytes", n)
	}
	if n := must[int64](t)(tenants.Of(db, "tenants").ApproximateSize(ctx, "small")); n > 100_000 {
		t.Errorf("the small tenant has %d bytes", n)
	}
	wantError(t, second(tenants.Of(db, "tenants").ApproximateSize(ctx, "missing")), tenants.ErrNotFound)
}
