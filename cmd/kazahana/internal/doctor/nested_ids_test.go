// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// nested creates an account "a", so long that a batch ends with it, and others with keys that
// begin with the bytes of its key: the packed "a" is 02 61 00, and "a\x00b" 02 61 00 ff 62 00.
func nested(t *testing.T, engine kv.Database, others int) {
	t.Helper()
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	accounts := bazaar.AccountStoreOf(db, "tenant-1")
	for i := range others + 1 {
		id, name := "a", strings.Repeat("name", 600_000)
		if i > 0 {
			id, name = fmt.Sprint("a\x00", i), "short"
		}
		a := &bazaar.Account{TenantID: "tenant-1", Email: fmt.Sprint("nested-", i), Name: &name}
		check(t, accounts.CreateWithID(t.Context(), id, a))
	}
	check(t, db.Close())
}

// TestNestedIDs: a record with a key that begins with that of another one is a record of its own,
// and is examined even when the other one cannot be.
func TestNestedIDs(t *testing.T) {
	engine := seeded(t)
	_, before := examine(t, engine, doctor.Options{})
	const others = 16 // some lie in the shard of "a"
	nested(t, engine, others)
	if found, r := examine(t, engine, doctor.Options{}); len(found) > 0 || r.Records != before.Records+1+others {
		t.Errorf("%d records, and %d before: %v", r.Records, before.Records, found)
	}
	small := allowance{Database: engine, bytes: 1 << 20, spent: &expense{}}
	found, r := examine(t, small, doctor.Options{})
	if codesOf(found) != doctor.NotExamined || r.Records != before.Records+others {
		t.Errorf("%d records, and %d before, although one cannot be read: %v", r.Records, before.Records, found)
	}
}
