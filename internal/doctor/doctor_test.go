// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
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

// TestHealthy finds nothing in a database of many kinds of indexes, beside writers or alone.
func TestHealthy(t *testing.T) {
	db := seeded(t)
	for _, exclusive := range []bool{false, true} {
		found, r := examine(t, db, doctor.Options{Exclusive: exclusive})
		if len(found) > 0 || r.Records < 30 || r.Stores < 8 {
			t.Errorf("exclusive %v: %+v, %v", exclusive, r, found)
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
