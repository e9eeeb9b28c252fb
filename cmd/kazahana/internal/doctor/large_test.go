// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestHealthyLarge finds nothing in a database of many records: as many as the variable
// KAZAHANA_DOCTOR_RECORDS says, some thousand without it. Of 50 records one is an order.
func TestHealthyLarge(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("KAZAHANA_DOCTOR_RECORDS"))
	if err != nil {
		n = 3000
	}
	folder := t.TempDir()
	fill(t, folder, n)
	engine, err := embedded.Open(folder, embedded.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var most uint64
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	opened := stats.HeapAlloc // what the engine and the filling have left
	began, batches := time.Now(), 0
	found, r := examine(t, engine, doctor.Options{Exclusive: true, Progress: func(doctor.Report) {
		if batches++; batches%100 == 0 {
			runtime.GC() // what the filling has left is not the examination's
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}})
	if len(found) > 0 || r.Records < int64(n) {
		t.Errorf("%+v: %v", r, found)
	}
	t.Logf("%d records, %d entries in %v, at most %d MB live on the heap, %d MB of them before", r.Records, r.Entries, time.Since(began), most>>20, opened>>20)
}

// fill writes n events, and an order for each 50 of them.
func fill(t *testing.T, folder string, n int) {
	t.Helper()
	ctx := t.Context()
	engine, err := embedded.Open(folder, embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := bazaar.Seed(ctx, engine); err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < n; i += 500 {
		if err := db.Transact(ctx, func(tx persistable.Tx) error { return fillBatch(ctx, db, tx, i, min(i+500, n)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
}

func fillBatch(ctx context.Context, db *persistable.DB, tx persistable.Tx, from, to int) error {
	events := bazaar.EventStoreOf(db).In(tx)
	for i := from; i < to; i++ {
		var id ulid.ULID
		binary.BigEndian.PutUint64(id[8:], uint64(i)+1<<40)
		e := &bazaar.Event{Tenant: fmt.Sprint("tenant-", i%100), At: time.Unix(int64(i), 0), Text: "something happened"}
		if err := events.CreateWithID(ctx, id, e); err != nil {
			return err
		}
		if i%50 > 0 {
			continue
		}
		tenant := fmt.Sprint("tenant-", i/50%5)
		o := &bazaar.Order{TenantID: tenant, Number: fmt.Sprint("N-", i), Country: "JP", Amount: int64(i), Status: bazaar.Status(i / 50 % 3), CreatedAt: time.Unix(int64(i), 0)}
		if err := bazaar.OrderStoreOf(db, tenant).In(tx).CreateWithID(ctx, idgen.ID(i+1), o); err != nil {
			return err
		}
	}
	return nil
}
