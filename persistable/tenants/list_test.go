// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
	"github.com/kazahana-db/kazahana/tuple"
)

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

// The directory that the database itself needs is no tenant: neither in the root, nor
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
			if e := wantAs[*tenants.NameError](t, err); !strings.Contains(e.Error(), "database itself") {
				t.Error(e)
			}
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
			if e := wantAs[*tenants.NameError](t, err); e.Reason == "" {
				t.Errorf("%s: %v", verb, e)
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
