// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestSimulationOnDatabase runs the members on package kvstore, and the actors'
// registers in the same database, written under kvstore's fence. Each transaction fails at
// least once, some after their commit, and versions jump.
func TestSimulationOnDatabase(t *testing.T) {
	engine := enginetest.Open(t)
	seeds := series(t, 2, 20)
	const workers = 32 // they wait more than they compute
	sum := runAll(t, seeds, workers, func(seed uint64) Options {
		return Options{Open: func(alive func(placement.Owner) bool) (Store, error) { return openDatabase(engine, seed, alive) }}
	})
	t.Logf("%d seeds: %+v", len(seeds), sum)
}

// database is a store in a database.
type database struct {
	rows
	db  kv.Database
	run int64
}

type rows = *kvstore.Store

var opened atomic.Int64

// openDatabase opens the store of a seed, in a directory of its own.
func openDatabase(engine kv.Database, seed uint64, alive func(placement.Owner) bool) (Store, error) {
	db := faults.Hostile(engine, faults.Options{Seed: seed, Faults: 1, MaxDelay: -1})
	run := opened.Add(1) // a seed runs several times while it is shrunk
	store, err := kvstore.New(db, kvstore.Options{Members: members{alive}, Path: []string{"sim", fmt.Sprint(run)}})
	return database{store, db, run}, err
}

// members answers from the simulated registry.
type members struct {
	alive func(placement.Owner) bool
}

// StartAlive implements kvstore.Liveness.
func (m members) StartAlive(_ context.Context, _ kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error) {
	alive := m.alive(owner)
	return func(context.Context) (bool, error) { return alive, nil }
}

// Holder implements Store.
func (d database) Holder(key placement.Key) (placement.Holder, bool) {
	row, err := d.Row(context.Background(), key)
	if err != nil {
		panic(err)
	}
	return placement.Holder{Owner: row.Owner, Address: row.Address, Epoch: row.Epoch}, !row.Free()
}

// Update implements Store: it is one transaction. If an attempt was committed
// and its acknowledgement was lost, the next finds what it has written.
func (d database) Update(key placement.Key, owner placement.Owner, epoch int64, change func(int) int) error {
	ctx := context.Background()
	at := tuple.AppendString(tuple.AppendString(tuple.AppendInt([]byte("sim registers"), d.run), key.Kind), key.ID)
	written := int64(-1)
	return d.Fence(key, owner, epoch).Under(d.db).Transact(ctx, func(tx kv.Transaction) error {
		found, err := readInt(ctx, tx, at)
		if err == nil && found != written {
			written = int64(change(int(found)))
			tx.Set(at, tuple.AppendInt(nil, written))
		}
		return err
	})
}

func readInt(ctx context.Context, tx kv.ReadTransaction, at []byte) (n int64, err error) {
	value, err := tx.Get(at).Get(ctx)
	if value != nil {
		n, _, err = tuple.ReadInt(value)
	}
	return n, err
}
