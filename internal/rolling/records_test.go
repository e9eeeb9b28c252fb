// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// tenantNames are the tenants that programs write to.
var tenantNames = []string{"t1", "t2"}

// TestFolder has programs of both versions use one folder, one after the other. Each
// reads all that the others have written, by every index, and the commands of both
// examine the folder. A schema changes with the version, and back.
func TestFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	random := seed.Rand(t)
	f := startFleet(t, Place{Folder: folder}, 1)
	w := newWorld(f, random, 1)
	for range rounds(6) {
		w.play(t, 60)
		w.check(t)
		w.beginLists(t)
		check(t, f.workers[0].end())
		examine(t, random, folder)
		f.workers[0] = must(startWorker(t, f.place))(t)
		w.check(t)
	}
}

// TestTogether has programs of both versions use one database at once, while they
// are killed and started again: a cluster, if there is one.
func TestTogether(t *testing.T) {
	random := seed.Rand(t)
	f := startFleet(t, shared(t), 3)
	w := newWorld(f, random, 4)
	for range rounds(4) {
		w.play(t, 40)
		w.check(t)
	}
}

// rounds returns n, and 1 if all programs are of one version: then only the test is on trial.
func rounds(n int) int {
	if On() {
		return n
	}
	return 1
}

// world is what programs have written.
type world struct {
	*fleet
	random *rand.Rand
	lanes  []*lane

	begun map[Part]Listing // the first part of lists that are not checked yet

	mu       sync.Mutex
	ids      map[idgen.ID]bool // of all orders that were created
	counted  uint64
	followed map[string]map[idgen.ID]Change // by tenant: the last change that the feed told of each order
}

// lane is a sequence of calls, with records of its own.
type lane struct {
	*world
	random   *rand.Rand
	name     string
	made     int
	orders   map[idgen.ID]*bazaar.Order
	accounts map[string]Account // by ID
}

func newWorld(f *fleet, random *rand.Rand, lanes int) *world {
	w := &world{fleet: f, random: random, begun: map[Part]Listing{}, ids: map[idgen.ID]bool{}, followed: map[string]map[idgen.ID]Change{}}
	for _, tenant := range tenantNames {
		w.followed[tenant] = map[idgen.ID]Change{}
	}
	for i := range lanes {
		w.lanes = append(w.lanes, &lane{
			world: w, random: rand.New(rand.NewPCG(random.Uint64(), 0)), name: fmt.Sprint("lane-", i),
			orders: map[idgen.ID]*bazaar.Order{}, accounts: map[string]Account{},
		})
	}
	return w
}

// build has every worker build the indexes that its program has and the stores lack.
func (w *world) build(t *testing.T) {
	for _, tenant := range tenantNames {
		for _, worker := range w.workers {
			check(t, worker.call("Build", tenant, &Empty{}))
		}
	}
}

// play has all lanes do n steps each, at once.
func (w *world) play(t *testing.T, n int) {
	var lanes sync.WaitGroup
	for _, l := range w.lanes {
		lanes.Go(func() {
			for range n {
				if err := l.step(); err != nil {
					t.Errorf("%s: %v", l.name, err)
					return
				}
			}
		})
	}
	lanes.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (l *lane) step() error {
	switch n := l.random.IntN(100); {
	case n < 30 || len(l.orders) == 0:
		return l.create()
	case n < 60:
		return l.change()
	case n < 68:
		return l.delete()
	case n < 82:
		return l.putAccount()
	case n < 88:
		return l.count()
	case n < 97:
		return l.follow(l.tenant())
	}
	return l.replace(l.random)
}

func (l *lane) call(method string, args, reply any) error {
	return l.fleet.call(l.random, method, args, reply)
}

func (l *lane) tenant() string { return tenantNames[l.random.IntN(len(tenantNames))] }

func (l *lane) create() error {
	l.made++
	o := l.newOrder(l.tenant(), fmt.Sprintf("%s-%d", l.name, l.made))
	var created bazaar.Order
	if err := l.call("Create", o, &created); err != nil {
		return err
	}
	if !l.noteID(created.ID) {
		return fmt.Errorf("the ID %s came twice", created.ID)
	}
	l.orders[created.ID] = &created
	return l.call("CreateTwice", l.newOrder(o.TenantID, o.Number), &Empty{})
}

// noteID notes an ID that was made, and reports whether it is new.
func (w *world) noteID(id idgen.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.ids)
	w.ids[id] = true
	return len(w.ids) > n
}

// newOrder returns an order with random values in its fields, some of them empty.
func (l *lane) newOrder(tenant, number string) bazaar.Order {
	r := l.random
	at := time.Date(2026, 1, 1, 0, 0, 0, r.IntN(1e9), time.UTC).AddDate(0, 0, r.IntN(500))
	o := bazaar.Order{
		TenantID: tenant, Number: number, Status: bazaar.Status(r.IntN(3)), Country: countries[r.IntN(3)], CreatedAt: at,
		Amount: r.Int64N(2000) - 1000, Units: r.Uint32(), Rate: float64(r.IntN(100)) / 8, Done: r.IntN(2) == 0,
		Took: time.Duration(r.Int64N(1e12)), Tags: append([]string(nil), tags[:r.IntN(4)]...), Hash: [4]byte{byte(r.Uint32())}, Key: [16]byte{15: byte(r.Uint32())},
	}
	o.Address.City = cities[r.IntN(3)]
	if r.IntN(2) == 0 {
		o.Editor, o.Address.Zip, o.PaidAt = &editors[r.IntN(3)], &editors[r.IntN(3)], &at
		o.Billing = &bazaar.Address{Street: "Rue Lepic 12", City: cities[r.IntN(3)]}
		o.Lines = []bazaar.Line{{Product: "tea", Quantity: r.Int32N(9) + 1, Price: 450}, {Product: number}}
		o.Notes = map[string]string{"gift": "yes", number: ""}
		o.Photo = bytes.Repeat([]byte{0xff, 0, byte(r.Uint32())}, 1+r.IntN(2000))
	}
	return o
}

// any returns one of the lane's orders.
func (l *lane) any() *bazaar.Order {
	ids := slices.Sorted(maps.Keys(l.orders))
	return l.orders[ids[l.random.IntN(len(ids))]]
}

// change reads an order by one program, and saves it by one, over the version that was read.
func (l *lane) change() error {
	was := l.any()
	ask := bazaar.Order{TenantID: was.TenantID, ID: was.ID}
	if l.random.IntN(2) == 0 {
		ask.Number = was.Number
	}
	var found bazaar.Order
	if err := l.call("Get", ask, &found); err != nil {
		return err
	}
	if diff := cmp.Diff(text(was), text(&found)); diff != "" {
		return fmt.Errorf("order %s of %s (-want +got):\n%s", was.ID, was.TenantID, diff)
	}
	next := l.newOrder(was.TenantID, was.Number)
	next.ID, next.Version = was.ID, found.Version
	l.orders[was.ID] = &next
	return l.call("Save", next, &Empty{})
}

func (l *lane) delete() error {
	o := l.any()
	delete(l.orders, o.ID)
	return l.call("Delete", bazaar.Order{TenantID: o.TenantID, ID: o.ID}, &Empty{})
}

// putAccount makes or changes an account by one program. The type of the older one has no plan: it leaves that alone.
func (l *lane) putAccount() error {
	l.made++
	a := Account{TenantID: l.tenant(), Plan: plans[0]}
	if len(l.accounts) > 0 && l.random.IntN(3) > 0 {
		ids := slices.Sorted(maps.Keys(l.accounts))
		a = l.accounts[ids[l.random.IntN(len(ids))]]
	}
	a.Email, a.Name, a.Level = fmt.Sprintf("%s-%d@example.com", l.name, l.made), editors[1+l.random.IntN(2)], l.random.Int32N(levels)
	put := a
	put.Plan = plans[l.random.IntN(len(plans))]
	var done PutAccount
	err := l.call("PutAccount", put, &done)
	if done.Newer {
		a.Plan = put.Plan
	}
	a.ID = done.ID
	l.accounts[a.ID] = a
	return err
}

// count has one program add to the counter of all.
func (l *lane) count() error {
	n := l.random.Uint64N(1000)
	l.mu.Lock()
	l.counted += n
	l.mu.Unlock()
	return l.call("Count", n, &Empty{})
}

// follow takes the next changes of a tenant by one program.
func (l *lane) follow(tenant string) error {
	_, err := l.followNext(l.random, tenant)
	return err
}

func (w *world) followNext(random *rand.Rand, tenant string) (n int, err error) {
	var changes []Change
	if err := w.fleet.call(random, "Follow", tenant, &changes); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range changes {
		last := w.followed[tenant][c.ID]
		switch order := bytes.Compare(c.Version[:], last.Version[:]); {
		case order == 0:
			return 0, fmt.Errorf("the change of %s with version %s came twice", c.ID, c.Version)
		case order > 0:
			w.followed[tenant][c.ID] = c
		}
	}
	return len(changes), nil
}

// check compares what the programs read with what was written, while nothing is.
func (w *world) check(t *testing.T) {
	t.Helper()
	w.build(t)
	var counted uint64
	check(t, w.fleet.call(w.random, "Counted", Empty{}, &counted))
	if counted != w.counted {
		t.Fatalf("the counter is %d, want %d", counted, w.counted)
	}
	for _, tenant := range tenantNames {
		for _, worker := range w.workers {
			w.checkContents(t, worker, tenant, tenant)
		}
		w.checkLists(t, tenant)
		w.checkFeed(t, tenant)
		w.checkCopy(t, tenant)
	}
}

// records returns all records of a tenant.
func (w *world) records(tenant string) (map[idgen.ID]*bazaar.Order, map[string]Account) {
	orders, accounts := map[idgen.ID]*bazaar.Order{}, map[string]Account{}
	for _, l := range w.lanes {
		for id, o := range l.orders {
			if o.TenantID == tenant {
				orders[id] = o
			}
		}
		for id, a := range l.accounts {
			if a.TenantID == tenant {
				accounts[id] = a
			}
		}
	}
	return orders, accounts
}

// checkContents compares what a worker reads of a tenant with what was written to it under another name.
func (w *world) checkContents(t *testing.T, worker *process, tenant, written string) {
	t.Helper()
	orders, accounts := w.records(written)
	if tenant != written {
		for id, o := range orders {
			moved := *o
			moved.TenantID = tenant
			orders[id] = &moved
		}
	}
	var got Contents
	check(t, worker.call("Contents", tenant, &got))
	if diff := cmp.Diff(contentsOf(orders, accounts, worker.version == Today), &got); diff != "" {
		t.Fatalf("the %s version reads tenant %s (-want +got):\n%s", worker.version, tenant, diff)
	}
}

// beginLists reads the first part of each list, with which checkLists goes on: nothing may be written until then.
func (w *world) beginLists(t *testing.T) {
	for _, tenant := range tenantNames {
		for _, across := range []bool{false, true} {
			var l Listing
			p := Part{Tenant: tenant, Across: across}
			check(t, w.fleet.call(w.random, "List", p, &l))
			w.begun[p] = l
		}
	}
}

// checkLists reads all orders in parts, each by any program: a token of one holds in the other.
func (w *world) checkLists(t *testing.T, tenant string) {
	t.Helper()
	orders, _ := w.records(tenant)
	for _, across := range []bool{false, true} {
		p := Part{Tenant: tenant, Across: across}
		l, begun := w.begun[p]
		delete(w.begun, p)
		if !begun {
			check(t, w.fleet.call(w.random, "List", p, &l))
		}
		ids := append([]idgen.ID{}, l.IDs...)
		for p.Token = l.Next; p.Token != ""; p.Token = l.Next {
			l = Listing{}
			check(t, w.fleet.call(w.random, "List", p, &l))
			ids = append(ids, l.IDs...)
		}
		slices.Sort(ids)
		want := slices.AppendSeq([]idgen.ID{}, maps.Keys(orders))
		slices.Sort(want)
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Fatalf("parts of tenant %s, across transactions: %v (-want +got):\n%s", tenant, across, diff)
		}
	}
}

// checkFeed takes all changes that are left, and compares the orders that the feed has told of.
func (w *world) checkFeed(t *testing.T, tenant string) {
	t.Helper()
	for n := 1; n > 0; {
		n = must(w.followNext(w.random, tenant))(t)
	}
	orders, _ := w.records(tenant)
	want, got := map[idgen.ID]string{}, map[idgen.ID]string{}
	for id, o := range orders {
		want[id] = text(o)
	}
	for id, c := range w.followed[tenant] {
		if c.Order != "" {
			got[id] = c.Order
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the orders of tenant %s by its feed (-want +got):\n%s", tenant, diff)
	}
}

// checkCopy exports a tenant, imports and removes it under another name, each by any program.
func (w *world) checkCopy(t *testing.T, tenant string) {
	t.Helper()
	var stream []byte
	var left []string
	check(t, w.fleet.call(w.random, "Export", tenant, &stream))
	check(t, w.fleet.call(w.random, "Import", Stream{"copy", stream}, &Empty{}))
	w.checkContents(t, w.workers[w.random.IntN(len(w.workers))], "copy", tenant)
	check(t, w.fleet.call(w.random, "Remove", "copy", &left))
	if diff := cmp.Diff(tenantNames, left); diff != "" {
		t.Fatalf("the tenants after a copy was removed (-want +got):\n%s", diff)
	}
}
