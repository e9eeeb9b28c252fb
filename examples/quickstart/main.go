// SPDX-License-Identifier: Apache-2.0

// Quickstart saves orders of two tenants under IDs of their own, finds them by
// unique and compound index, removes a tenant, and explains what it does. Run
// it twice: the second run finds the first one's orders.
//
//	go run ./examples/quickstart [-data DIR]
//	go run -tags foundationdb ./examples/quickstart --cluster-file FILE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

func main() {
	data := flag.String("data", filepath.Join("data", "quickstart"), "folder of the database")
	cluster := flag.String("cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flag.Parse()
	if err := start(context.Background(), os.Stdout, *data, *cluster); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// tour is one run of the program.
type tour struct {
	out io.Writer
	db  *persistable.DB
	now time.Time
}

// start runs the tour on the cluster, if there is one, or on the folder.
func start(ctx context.Context, out io.Writer, dir, clusterFile string) (err error) {
	engine, err := open(out, dir, clusterFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return run(ctx, out, engine)
}

// open opens the engine: all that differs on a cluster.
func open(out io.Writer, dir, clusterFile string) (kv.Database, error) {
	if clusterFile != "" {
		fmt.Fprintf(out, "Opening the FoundationDB cluster of %s.\n", clusterFile)
		return fdbkv.Open(clusterFile)
	}
	fmt.Fprintf(out, "Opening the database in %s: an engine inside this process, nothing installed.\n", dir)
	return embedded.Open(dir)
}

func run(ctx context.Context, out io.Writer, engine kv.Database) error {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }() // gives its machine id back
	t := tour{out: out, db: db, now: time.Now().UTC()}
	for _, step := range []func(context.Context) error{
		t.greet, t.create, t.get, t.unique, t.query, t.transact, t.tenants,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	t.say("\nRun it again: tenant-1's orders will still be there.")
	return nil
}

func (t tour) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t tour) orders(tenant string) *OrderStore { return OrderStoreOf(t.db, tenant) }

// greet tells what earlier runs left.
func (t tour) greet(ctx context.Context) error {
	n, err := t.orders("tenant-1").OrderedByNumber().Count(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		t.say("This is the first run: tenant-1 has no orders.")
		return nil
	}
	t.say("tenant-1 has %d orders from earlier runs.", n)
	return nil
}

// create saves three orders of tenant-1.
func (t tour) create(ctx context.Context) error {
	orders := t.orders("tenant-1")
	n, err := orders.OrderedByNumber().Count(ctx)
	if err != nil {
		return err
	}
	t.say("\nCreate: the constructor gives each order an ID: 64 bits, ordered by time, unique among all processes,")
	t.say("because the machine id in it is leased from the database: each run has a lease of its own, and often another id.")
	for i := range 3 {
		o := NewOrder(Order{
			TenantID: "tenant-1", Number: number(n + i), Status: Pending,
			CreatedAt: t.now.Add(time.Duration(i-2) * time.Minute), Amount: 1000 * int64(i+1),
		})
		if err := orders.Create(ctx, o); err != nil {
			return err
		}
		t.say("  %s  number %s  made %s by machine %d, leased: %v",
			o.ID, o.Number, o.ID.Time().Format("2006-01-02 15:04:05.000"), o.ID.MachineID(), !o.ID.IsFallback())
	}
	return nil
}

func number(i int) string { return fmt.Sprintf("A-%d", 1001+i) }

// get fetches an order by its unique number and again by its ID.
func (t tour) get(ctx context.Context) error {
	orders := t.orders("tenant-1")
	o, err := orders.ByNumber(ctx, number(0))
	if err != nil {
		return err
	}
	if o, err = orders.Get(ctx, o.ID); err != nil {
		return err
	}
	t.say("\nByNumber(%q), then Get(%s): %s, amount %d.", o.Number, o.ID, o.Status, o.Amount)
	return nil
}

// unique shows that a number belongs to one order of a tenant.
func (t tour) unique(ctx context.Context) error {
	err := t.orders("tenant-1").Create(ctx, NewOrder(Order{TenantID: "tenant-1", Number: number(0), Status: Pending, CreatedAt: t.now, Amount: 1}))
	var taken *persistable.UniqueError
	if !errors.As(err, &taken) {
		return fmt.Errorf("a second order %s should have been refused: %w", number(0), err)
	}
	t.say("\nA second order with that number is refused:\n  %v", err)
	return nil
}

// query reads a range of the compound index on (Status, CreatedAt).
func (t tour) query(ctx context.Context) error {
	from := t.now.Add(-time.Minute)
	t.say("\nPending orders since %s, newest first, by the index on (Status, CreatedAt):", from.Format("15:04:05"))
	for o, err := range t.orders("tenant-1").ByStatusCreatedAt(Pending).From(from).Reverse().Limit(20).All(ctx) {
		if err != nil {
			return err
		}
		t.say("  %s  %s  %s  %d", o.CreatedAt.Format("15:04:05"), o.Number, o.Status, o.Amount)
	}
	return nil
}

// transact changes two orders together.
func (t tour) transact(ctx context.Context) error {
	err := t.db.Transact(ctx, func(tx persistable.Tx) error {
		orders := t.orders("tenant-1").In(tx)
		for o, err := range orders.ByStatus(Pending).Limit(2).All(ctx) {
			if err != nil {
				return err
			}
			o.Status = Paid
			if err := orders.Save(ctx, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	paid, err := t.orders("tenant-1").ByStatus(Paid).Count(ctx)
	t.say("\nTwo orders paid in one transaction; both indexes followed: %d are paid now.", paid)
	return err
}

// tenants shows two tenants side by side and removes one.
func (t tour) tenants(ctx context.Context) error {
	other := t.orders("tenant-2")
	if err := other.Create(ctx, other.New(Order{Number: number(0), Status: Pending, CreatedAt: t.now, Amount: 7})); err != nil {
		return err
	}
	t.say("\ntenant-2 has its own directory, so it may use the number %s too:", number(0))
	for _, tenant := range []string{"tenant-1", "tenant-2"} {
		n, err := t.orders(tenant).OrderedByNumber().Count(ctx)
		if err != nil {
			return err
		}
		t.say("  %s: %d orders", tenant, n)
	}
	if err := t.db.RemoveDirectory(ctx, "tenants", "tenant-2"); err != nil {
		return err
	}
	left, err := t.db.ListDirectory(ctx, "tenants")
	t.say("RemoveDirectory(tenants, tenant-2): its records and indexes are gone. Tenants left: %v.", left)
	return err
}
