// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// seeded returns a database with records of several tenants.
func seeded(t *testing.T) kv.Database {
	t.Helper()
	db := enginetest.InProcess(t)
	if err := bazaar.Seed(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// examine returns what an examination finds, without notices.
func examine(t *testing.T, db kv.Database, o doctor.Options) (found []doctor.Finding, r doctor.Report) {
	t.Helper()
	r, err := doctor.Examine(t.Context(), db, o, func(f doctor.Finding) {
		if f.Severity != doctor.Notice {
			found = append(found, f)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, r
}

// TestHealthy finds nothing in a database of many kinds of indexes, with and without writers.
func TestHealthy(t *testing.T) {
	db := seeded(t)
	for _, exclusive := range []bool{false, true} {
		found, r := examine(t, db, doctor.Options{Exclusive: exclusive})
		if len(found) > 0 || r.Records < 30 || r.Stores < 8 {
			t.Errorf("exclusive %v: %+v, %v", exclusive, r, found)
		}
	}
}

// TestCluster: each fault of a cluster is a finding with its reason, first of all.
func TestCluster(t *testing.T) {
	db := enginetest.InProcess(t)
	for _, code := range cluster.Codes() {
		var found []doctor.Finding
		r, err := doctor.Examine(t.Context(), db, doctor.Options{Cluster: []cluster.Fault{{Code: code, Reason: "100 % full"}}}, func(f doctor.Finding) { found = append(found, f) })
		check(t, err)
		if len(found) != 1 || found[0].Code != code || found[0].Reason != "100 % full" || found[0].Remedy == "" || r.Damage+r.Warnings+r.Notices != 1 {
			t.Errorf("%s: found %+v, %+v", code, found, r)
		}
	}
}

// TestClock: leases that were granted an hour ahead of this machine's clock are a warning.
func TestClock(t *testing.T) {
	found, _ := examine(t, prepared(t), doctor.Options{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if got := codesOf(found); got != "clock/ahead" {
		t.Errorf("found %v", found)
	}
}

// TestClaim: the first grant after an idle day is not a finding, although the service does not
// believe its time yet; the same is a warning where the clock is a day slow.
func TestClaim(t *testing.T) {
	db := seeded(t)
	now := time.Now()
	clock := func() time.Time { return now }
	store, err := leasefdb.NewStore(db, leasefdb.Options{Now: clock})
	check(t, err)
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	check(t, err)
	for _, key := range []string{"evening", "morning"} {
		_, err = server.Acquire(t.Context(), idgen.AcquireRequest{RequestKey: key})
		check(t, err)
		now = now.Add(24 * time.Hour)
	}
	now = now.Add(-24 * time.Hour)
	if found, _ := examine(t, db, doctor.Options{Now: clock}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	yesterday := now.Add(-24 * time.Hour)
	if found, _ := examine(t, db, doctor.Options{Now: func() time.Time { return yesterday }}); codesOf(found) != "clock/ahead" {
		t.Errorf("a day slow: found %v", found)
	}
}

// TestUsage: the usage of a tenant with a quota is that of its records, long ones included;
// its lock is a notice.
func TestUsage(t *testing.T) {
	engine := prepared(t)
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	set := tenants.Of(db, "tenants")
	check(t, set.SetQuota(t.Context(), "tenant-1", tenants.Quota{Records: 100}))
	_, err = set.Lock(t.Context(), "tenant-1", "export")
	check(t, err)
	check(t, db.Close())
	var all []doctor.Finding
	_, err = doctor.Examine(t.Context(), engine, doctor.Options{Exclusive: true}, func(f doctor.Finding) { all = append(all, f) })
	check(t, err)
	if got := codesOf(all); got != "index/needs-code tenant/locked" {
		t.Errorf("found %v", all)
	}
}

// TestLeftovers: what is worth knowing, or is left over, is not damage. Of a tenant that arrives
// or is removed there may be records without their header.
func TestLeftovers(t *testing.T) {
	db := seeded(t)
	ctx := t.Context()
	arriving, removed := []string{"kazahana", "tenants", "set", "arriving"}, []string{"kazahana", "tenants", "set", "removed", "t"}
	_, err := directory.Root().Create(ctx, db, append(arriving, "p"), directory.As(directory.Partition))
	check(t, err)
	for _, path := range [][]string{append(arriving, "t"), append(arriving, "t", "orders"), append(arriving, "p", "orders"), append(removed, "id"), {"app"}} {
		d, err := directory.Root().Create(ctx, db, path)
		check(t, err)
		s, err := d.Subspace()
		check(t, err)
		key := s.Sub("R", "Order", 1)
		if path[0] == "app" {
			key = s.Sub("own")
		}
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(key.Bytes(), nil); return nil }))
	}
	var all []doctor.Finding
	r, err := doctor.Examine(ctx, db, doctor.Options{}, func(f doctor.Finding) { all = append(all, f) })
	check(t, err)
	if got := codesOf(all); got != "directory/unknown-contents index/needs-code tenant/interrupted tenant/removed" || r.Damage > 0 || r.Warnings != 3 || r.Notices != 2 {
		t.Errorf("%+v: %v", r, all)
	}
}

// TestLimits: a directory, and a database without its records, are examined alone.
func TestLimits(t *testing.T) {
	db := prepared(t)
	check(t, db.Transact(t.Context(), func(tx kv.Transaction) error {
		w := world{t, tx}
		tx.Set(w.order("I", "Order_Editor", "eve", 7), nil)
		tx.Set([]byte("somewhere"), nil)
		return nil
	}))
	for _, c := range []struct {
		options doctor.Options
		want    string
	}{
		{doctor.Options{}, "directory/keys-outside index/orphan-entry"},
		{doctor.Options{SkipRecords: true}, "directory/keys-outside"},
		{doctor.Options{Path: []string{"tenants", "tenant-1"}}, "index/orphan-entry"},
		{doctor.Options{Path: []string{"tenants", "tenant-1", "orders"}}, "index/orphan-entry"},
		{doctor.Options{Path: []string{"tenants", "tenant-2"}}, ""},
	} {
		if found, _ := examine(t, db, c.options); codesOf(found) != c.want {
			t.Errorf("%+v: %v, want %s", c.options, found, c.want)
		}
	}
}

// TestCodesAreComplete: each code has a severity, a meaning and a remedy.
func TestCodesAreComplete(t *testing.T) {
	all := doctor.Codes()
	for _, c := range all {
		if c.Meaning == "" || c.Remedy == "" || !slices.Contains([]doctor.Severity{doctor.Damage, doctor.Warning, doctor.Notice}, c.Severity) {
			t.Errorf("%+v", c)
		}
	}
}

// TestRenamedTenant: the records of a tenant that was copied under another name keep the old
// name in their bytes, which is not damage, and hides none.
func TestRenamedTenant(t *testing.T) {
	engine := prepared(t)
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	_, err = tenants.Of(db, "tenants").Copy(t.Context(), "tenant-1", "tenant-7", tenants.CopyOptions{})
	check(t, errors.Join(err, db.Close()))
	d := damage{codes: "record/other-directory", make: func(world) []byte { return nil }}
	if found, _ := examineDamaged(t, engine, d, true); codesOf(found) != d.codes {
		t.Errorf("after a copy: %v", found)
	} else if len(found) != 2 || found[0].Places+found[1].Places != 25+4 || found[0].ID == "" {
		t.Errorf("after a copy the records of two stores are %d findings, want one for each store: %v", len(found), found)
	}
	d = damage{codes: "index/missing-entry", make: func(w world) []byte {
		p := w.key("tenants/tenant-1/orders", "I", "Order_Country_Amount")
		w.tx.ClearRange(kv.KeyRange{Begin: p, End: append(slices.Clone(p), 0xff)})
		return nil
	}}
	if found, _ := examineDamaged(t, engine, d, true); codesOf(found) != d.codes || len(found) != 1 || found[0].Places != 25 {
		t.Errorf("without any entry of an index: %v", found)
	}
	d = damage{codes: "index/missing-entry record/other-directory", make: func(w world) []byte {
		p := w.first(w.key("tenants/tenant-7/orders", "I", "Order_Country_Amount"))
		w.tx.Clear(p.Key)
		return nil
	}}
	if found, _ := examineDamaged(t, engine, d, true); codesOf(found) != d.codes {
		t.Errorf("after a copy, with a missing entry: %v", found)
	}
}
