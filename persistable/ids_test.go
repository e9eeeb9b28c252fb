// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

func active(t testing.TB, db *persistable.DB) []lease.Info {
	t.Helper()
	return must[lease.Page](t)(db.Leases().List(ctx, "", lease.ListOptions{})).Leases
}

// TestZeroConfiguration checks that a DB that is just opened leases a machine
// id from its own database, once an id is asked for, and gives it back.
func TestZeroConfiguration(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		if n := len(active(t, db)); n != 0 {
			t.Errorf("%d leases before any id was made", n)
		}
		orders := OrderStoreOf(db, "t")
		o := orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1})
		if o.ID == 0 || o.ID.IsFallback() {
			t.Fatalf("the constructor made the id %v, fallback %v", o.ID, o.ID.IsFallback())
		}
		leases := active(t, db)
		if len(leases) != 1 || int(leases[0].ID) != o.ID.MachineID() || leases[0].Meta["pid"] == "" {
			t.Errorf("the id is of machine %d, the leases are %+v", o.ID.MachineID(), leases)
		}
		if _, ok := db.Leases().LeaseOf("", o.ID); !ok {
			t.Error("the DB does not know the lease of the id")
		}
		check(t, orders.Create(ctx, o))
		zero := &Order{TenantID: "t", Number: "2"}
		check(t, orders.Create(ctx, zero))
		if zero.ID <= o.ID || zero.ID.IsFallback() {
			t.Errorf("Create made the id %v behind %v", zero.ID, o.ID)
		}
		if idgen.Default() != db.IDs() {
			t.Error("the DB's generator is not the default")
		}
		check(t, db.Close())
		check(t, db.Close())
		if idgen.Default() == db.IDs() {
			t.Error("the generator of a closed DB is the default")
		}
		if left := active(t, db); len(left) != 0 {
			t.Errorf("a closed DB holds %+v", left)
		}
		_, err := db.IDs().Next(ctx)
		wantError(t, err, idgen.ErrClosed)
		must[*Order](t)(orders.Get(ctx, o.ID))
	})
}

// TestUniqueAcrossDBs lets several DBs over one engine, as if each were a
// process, make ids at once, with clocks that differ, opening and closing all
// the time. No id may come twice, and none be a fallback.
func TestUniqueAcrossDBs(t *testing.T) {
	for name, wrap := range map[string]func(kv.Database) kv.Database{
		"plain":   func(db kv.Database) kv.Database { return db },
		"hostile": func(db kv.Database) kv.Database { return faults.HostileT(t, db) },
	} {
		t.Run(name, func(t *testing.T) {
			engine, seed := wrap(enginetest.Open(t)), seed.Of(t)
			const processes, lives, each = 5, 4, 2000
			var mu sync.Mutex
			seen := make(map[idgen.ID]int, processes*lives*each)
			var group sync.WaitGroup
			for p := range processes {
				group.Go(func() {
					rng := rand.New(rand.NewPCG(seed, uint64(p)))
					for range lives {
						ids, err := life(engine, time.Duration(rng.IntN(4000)-2000)*time.Millisecond, each)
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						for _, id := range ids {
							if other, again := seen[id]; again {
								t.Errorf("processes %d and %d both made %d", other, p, id)
							}
							seen[id] = p
						}
						mu.Unlock()
					}
				})
			}
			group.Wait()
			t.Logf("%d ids", len(seen))
		})
	}
}

// life is the life of a process: it opens the database, makes ids by a clock
// that is ahead, and closes it.
func life(engine kv.Database, ahead time.Duration, n int) (made []idgen.ID, err error) {
	now := func() time.Time { return time.Now().Add(ahead) }
	o := persistable.Options{IDs: persistable.IDOptions{Client: idgen.Options{Now: now, DisableFallback: true}}}
	o.IDs.Leases.Now = now
	db, err := persistable.Open(ctx, engine, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for range n {
		id, err := db.IDs().Next(ctx)
		if err != nil {
			return made, err
		}
		if id.IsFallback() {
			return made, fmt.Errorf("%d is a fallback id", id)
		}
		made = append(made, id)
	}
	return made, nil
}

// TestTwoDatabases checks that stores make ids of their own database, whichever was
// opened first, and that constructors which know no database make none; but not against
// the program's choice.
func TestTwoDatabases(t *testing.T) {
	first := open(t, enginetest.Open(t))
	alone := NewOrder(Order{TenantID: "t", Number: "alone"})
	second := open(t, enginetest.Open(t))
	if _, leased := first.Leases().LeaseOf("", alone.ID); !leased {
		t.Errorf("with one database the constructor made %d", alone.ID)
	}
	for i, db := range []*persistable.DB{first, second} {
		orders := OrderStoreOf(db, "t")
		made, zero, shared := orders.New(Order{Number: "1"}), &Order{TenantID: "t", Number: "2"}, NewOrder(Order{TenantID: "t", Number: "3"})
		if shared.ID != 0 {
			t.Errorf("with two databases the constructor made the id %d", shared.ID)
		}
		wantError(t, db.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Create(ctx, shared) }), persistable.ErrNoID)
		for _, o := range []*Order{made, zero, shared} {
			check(t, orders.Create(ctx, o))
			if _, ok := db.Leases().LeaseOf("", o.ID); !ok {
				t.Errorf("database %d: order %s has the id %v of another one", i, o.Number, o.ID)
			}
		}
	}
	check(t, first.Close())
	if o := NewOrder(Order{TenantID: "t"}); o.ID == 0 {
		t.Error("with one database left the constructor made no id")
	} else if _, leased := second.Leases().LeaseOf("", o.ID); !leased {
		t.Errorf("with one database left the constructor made %d", o.ID)
	}
	if o := OrderStoreOf(first, "t").New(Order{}); o.ID != 0 {
		t.Errorf("the store of a closed DB made the id %d", o.ID)
	}
}

// TestSeveralDBsWithAChoice: where the program has chosen a generator for all its records,
// or has given one to a DB, that one makes the ids.
func TestSeveralDBsWithAChoice(t *testing.T) {
	own := &counter{Generator: idgen.Must(idgen.NewClient(idgen.Options{}))}
	first := open(t, enginetest.Open(t))
	second := openWith(t, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Generator: own}})
	if o := NewOrder(Order{}); o.ID != 0 {
		t.Errorf("the constructor made %d", o.ID)
	}
	orders := OrderStoreOf(second, "t")
	check(t, orders.Create(ctx, &Order{TenantID: "t", Number: "1"}))
	if orders.New(Order{}); own.n != 2 {
		t.Errorf("of two ids of a DB its own generator made %d", own.n)
	}
	idgen.SetDefault(idgen.Must(idgen.NewClient(idgen.Options{})))
	defer idgen.SetDefault(nil)
	o := &Order{TenantID: "t", Number: "2"}
	check(t, OrderStoreOf(first, "t").Create(ctx, o))
	for _, o := range []*Order{o, NewOrder(Order{}), OrderStoreOf(first, "t").New(Order{})} {
		if !o.ID.IsFallback() {
			t.Errorf("the id %v was not made by the program's generator", o.ID)
		}
	}
	if check(t, orders.Create(ctx, &Order{TenantID: "t", Number: "3"})); own.n != 3 {
		t.Errorf("of three ids of a DB its own generator made %d", own.n)
	}
}

// counter is a generator that counts the ids it makes.
type counter struct {
	idgen.Generator
	n int
}

func (c *counter) Next(ctx context.Context) (idgen.ID, error) {
	c.n++
	return c.Generator.Next(ctx)
}

// TestDBsOfOneDatabase: DBs that make no equal ids do not keep constructors from making
// some.
func TestDBsOfOneDatabase(t *testing.T) {
	needNoGenerator(t)
	engine, given := enginetest.Open(t), idgen.Must(idgen.NewClient(idgen.Options{}))
	for name, db := range map[string]func() *persistable.DB{
		"one engine": func() *persistable.DB { return must[*persistable.DB](t)(persistable.Open(ctx, engine)) },
		"one generator": func() *persistable.DB {
			return must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Generator: given}}))
		},
	} {
		first, second := db(), db()
		if o := NewOrder(Order{}); o.ID == 0 {
			t.Errorf("%s: the constructor made no id", name)
		}
		check(t, errors.Join(first.Close(), second.Close()))
	}
}

// TestIDsOfAnotherDatabase: no record is created under an id that another open database
// has made, but for imports; an imported one can be saved. Two DBs of one database do not
// count.
func TestIDsOfAnotherDatabase(t *testing.T) {
	engine := enginetest.Open(t)
	first := open(t, enginetest.Open(t))
	early := NewOrder(Order{TenantID: "t", Number: "early"}).ID
	second := open(t, engine)
	foreign, orders := OrderStoreOf(first, "t").New(Order{}).ID, OrderStoreOf(second, "t")
	order := func(id idgen.ID) *Order { return &Order{ID: id, TenantID: "t", Number: fmt.Sprint(id)} }
	for _, id := range []idgen.ID{early, foreign} {
		for verb, write := range map[string]func() error{
			"Create": func() error { return orders.Create(ctx, order(id)) },
			"Save":   func() error { return orders.Save(ctx, order(id)) },
			"Transact": func() error {
				return second.Transact(ctx, func(tx persistable.Tx) error { return orders.In(tx).Save(ctx, order(id)) })
			},
			"GetOrCreate": func() error { _, _, err := orders.GetOrCreate(ctx, order(id)); return err },
			"CreateMany":  func() error { return orders.CreateMany(ctx, []*Order{order(id)}, persistable.BatchOptions{}) },
			"SaveMany":    func() error { return orders.SaveMany(ctx, []*Order{order(id)}, persistable.BatchOptions{}) },
		} {
			if e := wantAs[*persistable.FieldError](t, write()); e.Field != "ID" || !strings.Contains(e.Reason, "CreateWithID") {
				t.Errorf("%s: %v", verb, e)
			}
		}
		check(t, orders.CreateWithID(ctx, id, order(id)))
		check(t, orders.Save(ctx, order(id)))
		check(t, orders.SaveExisting(ctx, order(id)))
		check(t, orders.Update(ctx, id, func(o *Order) error { o.Amount++; return nil }))
	}
	check(t, orders.Save(ctx, order(7)))
	check(t, orders.Save(ctx, orders.New(Order{Number: "own"})))

	again := open(t, &faulty{Database: engine}) // another engine value
	check(t, orders.Save(ctx, order(OrderStoreOf(again, "t").New(Order{}).ID)))
}

// TestOtherGenerators checks that a given generator is used, and with Off none
// is offered and nothing leased.
func TestOtherGenerators(t *testing.T) {
	g := idgen.Must(idgen.NewClient(idgen.Options{}))
	db := openWith(t, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Generator: g}})
	if idgen.Default() != idgen.Generator(g) || db.IDs() != idgen.Generator(g) || db.Leases() != nil {
		t.Error("the given generator is not used")
	}
	check(t, db.Close())
	if idgen.Default() == idgen.Generator(g) {
		t.Error("the generator of a closed DB is the default")
	}
	before := idgen.Default()
	off := openWith(t, enginetest.Open(t), persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if idgen.Default() != before || off.IDs() != before || off.Leases() != nil {
		t.Error("a DB without ids changed the default")
	}
	program := idgen.Must(idgen.NewClient(idgen.Options{}))
	idgen.SetDefault(program)
	defer idgen.SetDefault(nil)
	open(t, enginetest.Open(t))
	if idgen.Default() != idgen.Generator(program) {
		t.Error("a DB took the place of the program's own generator")
	}
	for name, o := range map[string]persistable.IDOptions{
		"two ways":              {Generator: g, Off: true},
		"fenced, not leased":    {Generator: g, Fenced: true},
		"fenced, off":           {Off: true, Fenced: true},
		"fallback, not leased":  {Generator: g, Fallback: true},
		"fallback, off":         {Off: true, Fallback: true},
		"fallback, forbidden":   {Fallback: true, Client: idgen.Options{DisableFallback: true}},
		"another provider":      {Client: idgen.Options{Provider: new(leasefdb.Provider)}},
		"a faulty client":       {Client: idgen.Options{MaxThroughput: -1}},
		"a faulty lease option": {Leases: leasefdb.Options{Lease: lease.Options{MaxLeases: -1}}},
	} {
		if db, err := persistable.Open(ctx, enginetest.Open(t), persistable.Options{IDs: o}); err == nil {
			t.Errorf("%s: no error", name)
			closeDB(t, db)
		}
	}
}

// four machine ids, which are taken again as soon as four others were leased.
var four = lease.Options{Default: lease.ServiceConfig{Layout: idgen.Layout{
	CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 12, TimestampBits: 41, MachineBits: 3, SequenceBits: 8,
}}}

// later is the clock of a process that is two hours ahead: leases of ten minutes
// have ended there.
func later() time.Time { return time.Now().Add(2 * time.Hour) }

// takeAll leases all machine ids there are by a clock.
func takeAll(t testing.TB, engine kv.Database, now func() time.Time) {
	t.Helper()
	other := must[*leasefdb.Provider](t)(leasefdb.New(engine, leasefdb.Options{Now: now, Lease: four}))
	for n := range 4 {
		must[[]idgen.Lease](t)(other.Acquire(ctx, idgen.AcquireRequest{RequestKey: fmt.Sprint(n)}))
	}
	_, err := other.Acquire(ctx, idgen.AcquireRequest{RequestKey: "fifth"})
	wantError(t, err, lease.ErrExhausted)
}

func fencedOptions(fenced bool) persistable.Options {
	return persistable.Options{IDs: persistable.IDOptions{
		Fenced: fenced, Leases: leasefdb.Options{Lease: four}, Client: idgen.Options{MaxThroughput: 256},
	}}
}

// TestNoLease checks what happens where no machine id is to be had: no ids and clear
// errors, or, if the program has chosen so, fallback ids.
func TestNoLease(t *testing.T) {
	engine := enginetest.Open(t)
	takeAll(t, engine, time.Now)
	fallback := fencedOptions(false)
	fallback.IDs.Fallback = true
	lenient := openWith(t, engine, fallback)
	orders := OrderStoreOf(lenient, "t")
	o := orders.New(Order{Number: "1", Status: Pending, CreatedAt: day0, Amount: 1})
	if o.ID == 0 || !four.Default.Layout.IsFallback(o.ID) {
		t.Errorf("the constructor made %d", o.ID)
	}
	check(t, orders.Create(ctx, o))
	check(t, lenient.Close())

	db := openWith(t, engine, fencedOptions(false))
	orders = OrderStoreOf(db, "t")
	if o = orders.New(Order{Number: "2", Status: Pending, CreatedAt: day0, Amount: 1}); o.ID != 0 {
		t.Errorf("the constructor made %d", o.ID)
	}
	err := orders.Create(ctx, o)
	wantError(t, err, persistable.ErrNoID)
	wantError(t, err, lease.ErrExhausted)
	wantError(t, err, idgen.ErrLeaseAcquisition)
	check(t, orders.CreateWithID(ctx, 99, o))
}

// TestEngineClosedBeforeTheDB checks that a DB with a closed engine takes
// its generator back by itself when it notices, and that ids are made on.
func TestEngineClosedBeforeTheDB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour)))
		engine := enginetest.InProcess(t)
		db := open(t, engine)
		check(t, engine.Close())
		if idgen.Default() != db.IDs() {
			t.Fatal("the DB's generator is not the default")
		}
		idgen.NewID() // asks for a lease
		synctest.Wait()
		if idgen.Default() == db.IDs() {
			t.Error("the generator of a DB without an engine is still the default")
		}
		if id := idgen.NewID(); id == 0 {
			t.Error("no id was made")
		}
		check(t, db.Close())
	})
}

// TestLeasesAreNotRemoved checks that RemoveDirectory refuses the directories of the
// leases and of all else that the library needs, wherever options put them.
func TestLeasesAreNotRemoved(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for _, path := range [][]string{{}, {"kazahana"}, {"kazahana", "leases"}, {"kazahana", "persistable"}, {"kazahana", "placement"}, {"kazahana", "leases", "x"}} {
		wantAs[*persistable.DirectoryError](t, db.RemoveDirectory(ctx, path...))
	}
	moved := must[*persistable.DB](t)(persistable.Open(ctx, db.Engine(), persistable.Options{SystemPath: []string{"app", "own"}}))
	defer moved.Close()
	for path, system := range map[string]bool{"": true, "app": true, "app/own": true, "app/own/x": true, "kazahana/x": true, "app/x": false, "kazahan": false, "x": false} {
		if got := moved.HoldsSystem(strings.FieldsFunc(path, func(r rune) bool { return r == '/' })...); got != system {
			t.Errorf("HoldsSystem(%q) = %v", path, got)
		}
	}
}

// TestStoreInSystemDirectory: a tenant whose name leads to a directory of the library gets no
// store there, in whatever way its first record is written.
func TestStoreInSystemDirectory(t *testing.T) {
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t), persistable.Options{SystemPath: []string{"app", "own"}}))
	defer db.Close()
	storeIn := func(tenant string, names ...string) persistable.Store[*Order, idgen.ID] {
		path := []persistimpl.PathElement{{Field: "TenantID"}}
		for _, name := range names {
			path = append(path, persistimpl.PathElement{Name: name})
		}
		return persistimpl.NewStore[*Order, idgen.ID](db, &persistimpl.Schema{
			Type: "Order", Directory: path, Lock: strings.Replace(orderSchema.Lock, "tenants/{TenantID}/orders", "{TenantID}/"+strings.Join(names, "/"), 1),
			IDs: orderSchema.IDs, ID: orderSchema.ID, Encode: orderSchema.Encode, Decode: orderSchema.Decode, Known: orderSchema.Known,
			Indexes: orderSchema.Indexes, Entries: orderSchema.Entries, CheckArgs: orderSchema.CheckArgs, FillArgs: orderSchema.FillArgs,
		}, tenant)
	}
	before := dump(t, db)
	s := storeIn("kazahana", "leases")
	order := func() *Order { return &Order{ID: 1, TenantID: "kazahana"} }
	_, _, getOrCreate := s.GetOrCreate(ctx, order())
	for verb, err := range map[string]error{
		"CreateWithID": s.CreateWithID(ctx, 1, order()), "Create": s.Create(ctx, order()), "Save": s.Save(ctx, order()),
		"SaveMany": s.SaveMany(ctx, []*Order{order()}, persistable.BatchOptions{}), "GetOrCreate": getOrCreate,
	} {
		var fault *persistable.DirectoryError
		if !errors.As(err, &fault) || fault.Type != "Order" || !slices.Equal(fault.Path, []string{"kazahana", "leases"}) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
	own, other := storeIn("app", "own", "orders"), storeIn("app", "leases")
	wantAs[*persistable.DirectoryError](t, own.Save(ctx, &Order{ID: 1, TenantID: "app"}))
	check(t, other.Save(ctx, &Order{ID: 1, TenantID: "app"}))
}
