// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// allDamages returns the damages of all layouts.
func allDamages() []damage {
	return slices.Concat(damages, storeDamages, blobDamages, leaseDamages, ownDamages)
}

// TestDamages makes each damage by hand: the doctor finds it, at its key, with a remedy, and
// nothing but what it causes. Of notices it compares those that the damage names.
func TestDamages(t *testing.T) {
	db := prepared(t)
	for _, d := range allDamages() {
		t.Run(d.name, func(t *testing.T) {
			for _, exclusive := range []bool{true, false} {
				if exclusive != d.isExclusive() && !strings.HasPrefix(d.codes, "index/wrong") {
					continue // only totals are compared in another way
				}
				found, at := examineDamaged(t, db, d, exclusive)
				if got := codesOf(found); got != d.codes {
					t.Fatalf("exclusive %v: found %s, want %s\n%v", exclusive, got, d.codes, found)
				}
				if at != nil && !slices.ContainsFunc(found, func(f doctor.Finding) bool { return bytes.Equal(f.Key, at) && f.Place != "" }) {
					t.Errorf("exclusive %v: the key %s is not named: %v", exclusive, tuple.Describe(at), found)
				}
				for _, f := range found {
					if f.Remedy == "" || f.Reason == "" || strings.Contains(f.Reason, "<nil>") || strings.Contains(f.Reason, "backup") {
						t.Errorf("the reason is not the fault alone, or there is no remedy: %+v", f)
					}
				}
			}
		})
	}
	if found, _ := examine(t, db, doctor.Options{Exclusive: true}); len(found) > 0 {
		t.Errorf("the damages changed the database: %v", found)
	}
}

// TestDamagesAreComplete: each code that the doctor can report has a damage. What cannot be
// read is not damage to stored bytes: TestNotExamined makes it. Nor is a fault of a cluster, see
// TestCluster.
func TestDamagesAreComplete(t *testing.T) {
	made := append(cluster.Codes(), doctor.NotExamined)
	for _, d := range allDamages() {
		made = append(made, strings.Fields(d.codes)...)
	}
	for _, c := range doctor.Codes() {
		if !slices.Contains(made, c.Name) {
			t.Errorf("no damage is reported as %s", c.Name)
		}
	}
}

// isExclusive reports whether the damage is found where no program runs. Leases are renewed
// where some do.
func (d damage) isExclusive() bool { return d.codes != "lease/ending" }

// codesOf returns the codes of findings, each once.
func codesOf(found []doctor.Finding) string {
	var codes []string
	for _, f := range found {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return strings.Join(slices.Compact(codes), " ")
}

// examineDamaged examines what a transaction would have made that is never committed.
func examineDamaged(t *testing.T, db kv.Database, d damage, exclusive bool) (found []doctor.Finding, at []byte) {
	t.Helper()
	tx, err := db.Begin()
	check(t, err)
	defer tx.Cancel()
	at = d.make(world{t, tx})
	return d.find(t, view{db, tx}, exclusive), at
}

// find returns what an examination finds, of notices those that the damage names, but the
// one that the seeded database has.
func (d damage) find(t *testing.T, db kv.Database, exclusive bool) (found []doctor.Finding) {
	t.Helper()
	_, err := doctor.Examine(t.Context(), db, doctor.Options{Exclusive: exclusive}, func(f doctor.Finding) {
		named := slices.Contains(strings.Fields(d.codes), f.Code)
		if seeded := f.Index == "Setting_expiry"; !seeded && (named || f.Severity != doctor.Notice) {
			found = append(found, f)
		}
	})
	check(t, err)
	return found
}

// view is a database as a transaction sees it.
type view struct {
	kv.Database
	tx kv.Transaction
}

// ReadTransact implements [kv.ReadTransactor].
func (v view) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return v.tx.ReadTransact(ctx, func(tx kv.ReadTransaction) error { return fn(begun{tx}) })
}

// begun is a transaction that keeps the options with which it has begun.
type begun struct{ kv.ReadTransaction }

func (begun) SetOptions(kv.TransactionOptions) error { return nil }
