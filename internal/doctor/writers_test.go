// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestBesideWriters finds nothing while records are created, changed and deleted, directories
// made, moved and removed, and machine ids leased and released.
func TestBesideWriters(t *testing.T) {
	engine := prepared(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, work := range []func(context.Context, int) error{writeOrders(t, engine, 0), writeOrders(t, engine, 1), changeDirectories(engine), leaseMachines(t, engine)} {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := work(ctx, i); err != nil && ctx.Err() == nil && !errors.Is(err, kv.ErrClosed) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 8 {
		if found, _ := examine(t, engine, doctor.Options{}); len(found) > 0 {
			t.Errorf("found beside writers: %v", found)
		}
	}
	cancel()
	all.Wait()
	if found, r := examine(t, engine, doctor.Options{Exclusive: true}); len(found) > 0 || r.Records == 0 {
		t.Errorf("found in the end: %v", found)
	}
}

// writeOrders creates, changes and deletes orders of its own.
func writeOrders(t *testing.T, engine kv.Database, n int) func(context.Context, int) error {
	db, err := persistable.OpenWith(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	random := seed.Rand(t)
	return func(ctx context.Context, i int) error {
		id := idgen.ID(1000*(n+1) + random.IntN(50))
		orders := bazaar.OrderStoreOf(db, "tenant-1")
		if random.IntN(3) == 0 {
			err := orders.Delete(ctx, id)
			if errors.Is(err, persistable.ErrNotFound) {
				return nil
			}
			return err
		}
		return orders.Save(ctx, &bazaar.Order{
			ID: id, TenantID: "tenant-1", Number: fmt.Sprintf("N-%d-%d", n, id), Country: []string{"JP", "DE"}[i%2],
			Amount: random.Int64N(100), Status: bazaar.Status(random.IntN(3)), CreatedAt: time.Unix(int64(i), 0), Tags: []string{"new"},
			Photo: make([]byte, []int{10, 150_000}[i%16/15]),
		})
	}
}

// changeDirectories makes, moves and removes directories with keys.
func changeDirectories(engine kv.Database) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		from, to := []string{"moving", fmt.Sprint(i)}, []string{fmt.Sprint("moved-", i)}
		d, err := directory.Root().CreateOrOpen(ctx, engine, from)
		if err != nil {
			return err
		}
		key, err := d.Prefix()
		if err != nil {
			return err
		}
		err = engine.Transact(ctx, func(tx kv.Transaction) error {
			if err := d.Protect(tx); err != nil {
				return err
			}
			tx.Set(append(key, 0x15, 1), []byte("x"))
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := directory.Root().Move(ctx, engine, from, to); err != nil {
			return err
		}
		_, err = directory.Root().RemoveIfExists(ctx, engine, to)
		return err
	}
}

// leaseMachines acquires and releases machine ids.
func leaseMachines(t *testing.T, engine kv.Database) func(context.Context, int) error {
	store, err := leasefdb.NewStore(engine, leasefdb.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, i int) error {
		leases, err := server.Acquire(ctx, idgen.AcquireRequest{RequestKey: fmt.Sprint(i), ThroughputPerMs: 1 << (i % 7)})
		if err != nil {
			return err
		}
		for _, l := range leases {
			if err := server.Release(ctx, l.Release("", l.Created, time.UnixMilli(l.Created))); err != nil {
				return err
			}
		}
		return nil
	}
}
