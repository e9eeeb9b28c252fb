// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestBesideWriters finds nothing while records are created, changed and deleted, directories
// made, moved and removed, and machine ids leased and released: between any two
// transactions of the examination there are such writes.
func TestBesideWriters(t *testing.T) {
	engine := prepared(t)
	random := seed.Rand(t)
	works := []func(context.Context, int) error{writeOrders(t, engine, random), changeDirectories(engine), leaseMachines(t, engine)}
	written := 0
	hurried := interruption{engine, func(ctx context.Context) error {
		written++
		return works[written%len(works)](ctx, written/len(works))
	}}
	for range 6 {
		if found, _ := examine(t, hurried, doctor.Options{}); len(found) > 0 {
			t.Errorf("found while programs write: %v", found)
		}
	}
	if found, r := examine(t, engine, doctor.Options{Exclusive: true}); len(found) > 0 || r.Records == 0 || written < 500 {
		t.Errorf("found in the end, after %d writes: %v", written, found)
	}
}

// interruption is a database to which something is written before each reading transaction.
type interruption struct {
	kv.Database
	write func(context.Context) error
}

// ReadTransact implements [kv.ReadTransactor].
func (d interruption) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if err := d.write(ctx); err != nil {
		return err
	}
	return d.Database.ReadTransact(ctx, fn)
}

// writeOrders creates, changes and deletes orders of its own.
func writeOrders(t *testing.T, engine kv.Database, random *rand.Rand) func(context.Context, int) error {
	db, err := persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return func(ctx context.Context, i int) error {
		id := idgen.ID(1000 + random.IntN(50))
		orders := bazaar.OrderStoreOf(db, "tenant-1")
		if random.IntN(3) == 0 {
			err := orders.Delete(ctx, id)
			if errors.Is(err, persistable.ErrNotFound) {
				return nil
			}
			return err
		}
		return orders.Save(ctx, &bazaar.Order{
			ID: id, TenantID: "tenant-1", Number: fmt.Sprint("N-", id), Country: []string{"JP", "DE"}[i%2],
			Amount: random.Int64N(100), Status: bazaar.Status(random.IntN(3)), CreatedAt: time.Unix(int64(i), 0), Tags: []string{"new"},
			Photo: make([]byte, []int{10, 150_000}[i%16/15]),
		})
	}
}

// changeDirectories makes a directory with a key, moves it, and removes it, one at a time.
func changeDirectories(engine kv.Database) func(context.Context, int) error {
	return func(ctx context.Context, i int) (err error) {
		from, to := []string{"moving", fmt.Sprint(i / 3)}, []string{fmt.Sprint("moved-", i/3)}
		switch i % 3 {
		case 0:
			return engine.Transact(ctx, func(tx kv.Transaction) error { return makeDirectory(ctx, tx, from) })
		case 1:
			_, err = directory.Root().Move(ctx, engine, from, to)
		default:
			err = directory.Root().Remove(ctx, engine, to)
		}
		return err
	}
}

func makeDirectory(ctx context.Context, tx kv.Transaction, path []string) error {
	d, err := directory.Root().CreateOrOpen(ctx, tx, path)
	if err != nil {
		return err
	}
	space, err := d.Subspace()
	if err != nil {
		return err
	}
	tx.Set(space.Sub(1).Bytes(), []byte("x"))
	return nil
}

// leaseMachines acquires and releases machine ids.
func leaseMachines(t *testing.T, engine kv.Database) func(context.Context, int) error {
	store, err := leasefdb.NewStore(engine, leasefdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, i int) error {
		leases, err := server.Acquire(ctx, idgen.AcquireRequest{RequestKey: fmt.Sprint(i), Throughput: 1 << (i % 7)})
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
