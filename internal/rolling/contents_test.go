// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/bazaar/older"
	"github.com/kazahana-db/kazahana/persistable"
)

// The values of indexed fields of orders and accounts.
var (
	countries = []string{"DE", "FR", "IT"}
	cities    = []string{"", "Köln", "Paris"}
	editors   = []string{"", "ada", "grace"}
	tags      = []string{"new", "old", "spare"}
	plans     = []string{"free", "pro"}
)

const (
	levels = 3 // of accounts
	ranked = 5 // orders of each rank that are read
)

// Contents is what the stores of a tenant hold, as a program reads it. The lists have IDs.
type Contents struct {
	Orders   map[string]string   // by ID, from a scan
	Accounts map[string]string   // by email; without the plan for a program that does not know it
	Lists    map[string][]string // by the name of an index and a value, in the order of IDs, of ranks in theirs; none is empty
	Numbers  map[string]int64    // counts and sums; none is 0
	Faults   []string            // that Verify finds
}

func newContents() *Contents {
	return &Contents{Orders: map[string]string{}, Accounts: map[string]string{}, Lists: map[string][]string{}, Numbers: map[string]int64{}}
}

// contentsOf returns what a program should read of these records.
func contentsOf(orders map[idgen.ID]*bazaar.Order, accounts map[string]Account, newer bool) *Contents {
	c := newContents()
	for _, o := range orders {
		c.Orders[o.ID.String()] = text(o)
		for _, list := range lists(o) {
			c.addMember(list, o.ID.String())
		}
		c.addNumber("count", 1)
		c.addNumber(fmt.Sprint("count ", int(o.Status)), 1)
		c.addNumber("sum "+o.Country, o.Amount)
	}
	for _, a := range accounts {
		c.addAccount(a, newer)
		list := fmt.Sprint("level ", a.Level)
		if newer {
			list = "plan " + a.Plan
		}
		c.addMember(list, a.ID)
	}
	c.sortLists()
	for _, o := range slices.SortedFunc(maps.Values(orders), func(a, b *bazaar.Order) int {
		return cmp.Or(cmp.Compare(a.Amount, b.Amount), cmp.Compare(a.ID, b.ID))
	}) {
		if rank := fmt.Sprint("rank ", int(o.Status)); len(c.Lists[rank]) < ranked {
			c.addMember(rank, o.ID.String())
		}
	}
	return c
}

// lists returns the names of the lists in which an order is.
func lists(o *bazaar.Order) []string {
	names := []string{"number " + o.Number, fmt.Sprint("status ", int(o.Status)), "country " + o.Country, "city " + o.Address.City, "created", editorList(o.Editor)}
	for _, tag := range o.Tags {
		names = append(names, "tag "+tag)
	}
	if o.Status == bazaar.Paid {
		names = append(names, "unshipped")
	}
	return names
}

func editorList(editor *string) string {
	if editor == nil {
		return "no editor"
	}
	return "editor " + *editor
}

func (c *Contents) addMember(list, id string) { c.Lists[list] = append(c.Lists[list], id) }

func (c *Contents) sortLists() {
	for _, list := range c.Lists {
		slices.Sort(list) // all IDs of a type have the same length
	}
}

func (c *Contents) addNumber(name string, n int64) {
	if c.Numbers[name] += n; c.Numbers[name] == 0 {
		delete(c.Numbers, name)
	}
}

func (c *Contents) addAccount(a Account, newer bool) {
	c.Accounts[a.Email] = fmt.Sprintf("%s level %d name %s", a.ID, a.Level, a.Name)
	if newer {
		c.Accounts[a.Email] += " plan " + a.Plan
	}
}

// reader reads what a tenant's stores hold, up to the first error.
type reader struct {
	*Worker
	*Contents
	orders *bazaar.OrderStore
	err    error
}

// Contents reads all that a tenant's stores hold, by each of their indexes.
func (w *Worker) Contents(tenant string, c *Contents) error {
	*c = *newContents()
	r := &reader{Worker: w, Contents: c, orders: bazaar.OrderStoreOf(w.db, tenant)}
	r.readOrders()
	indexes := r.readAccounts(tenant)
	r.sortLists()
	r.readNumbers()
	r.readRanks()
	r.verify("orders: ", r.orders.Indexes())
	r.verify("accounts: ", indexes)
	return r.err
}

// each calls do for all that a query yields.
func each[T any](r *reader, all iter.Seq2[T, error], do func(T)) {
	if r.err != nil {
		return
	}
	for v, err := range all {
		if err != nil {
			r.err = err
			return
		}
		do(v)
	}
}

func (r *reader) readOrders() {
	each(r, r.orders.Scan().All(r.ctx), func(o *bazaar.Order) { r.Orders[o.ID.String()] = text(o) })
	each(r, r.orders.OrderedByNumber().All(r.ctx), func(o *bazaar.Order) { r.addMember("number "+o.Number, o.ID.String()) })
	r.list("created", r.orders.OrderedByCreatedAt().All(r.ctx))
	r.list("unshipped", r.orders.OrderedByCreatedAtWhereUnshipped().All(r.ctx))
	r.list(editorList(nil), r.orders.ByEditor(nil).All(r.ctx))
	for i := range 3 {
		r.list(fmt.Sprint("status ", i), r.orders.ByStatusCreatedAt(bazaar.Status(i)).All(r.ctx))
		r.list("country "+countries[i], r.orders.ByCountryAmount(countries[i]).All(r.ctx))
		r.list("city "+cities[i], r.orders.ByAddressCity(cities[i]).All(r.ctx))
		r.list(editorList(&editors[i]), r.orders.ByEditor(&editors[i]).All(r.ctx))
		r.list("tag "+tags[i], r.orders.ByTags(tags[i]).All(r.ctx))
	}
}

func (r *reader) list(name string, all iter.Seq2[*bazaar.Order, error]) {
	each(r, all, func(o *bazaar.Order) { r.addMember(name, o.ID.String()) })
}

// readAccounts reads the accounts, and returns their indexes.
func (r *reader) readAccounts(tenant string) persistable.Indexes {
	if r.newer {
		store := bazaar.AccountStoreOf(r.db, tenant)
		each(r, store.OrderedByEmail().All(r.ctx), func(a *bazaar.Account) {
			r.addAccount(Account{ID: a.ID, Email: a.Email, Level: int32(a.Level), Name: *a.Name, Plan: a.Plan}, true)
		})
		for _, plan := range plans {
			each(r, store.ByPlanLevel(plan).All(r.ctx), func(a *bazaar.Account) { r.addMember("plan "+plan, a.ID) })
		}
		return store.Indexes()
	}
	store := older.AccountStoreOf(r.db, tenant)
	each(r, store.OrderedByEmail().All(r.ctx), func(a *older.Account) {
		r.addAccount(Account{ID: a.ID, Email: a.Email, Level: a.Level, Name: a.Name}, false)
	})
	for level := range int32(levels) {
		each(r, store.ByLevel(level).All(r.ctx), func(a *older.Account) { r.addMember(fmt.Sprint("level ", level), a.ID) })
	}
	return store.Indexes()
}

func (r *reader) readNumbers() {
	r.number("count")(r.orders.CountAll(r.ctx))
	for i := range 3 {
		r.number(fmt.Sprint("count ", i))(r.orders.CountByStatus(r.ctx, bazaar.Status(i)))
		r.number("sum " + countries[i])(r.orders.SumAmountByCountry(r.ctx, countries[i]))
	}
}

// number returns what adds a number that was read.
func (r *reader) number(name string) func(n int64, err error) {
	return func(n int64, err error) {
		r.addNumber(name, n)
		r.err = cmp.Or(r.err, err)
	}
}

func (r *reader) readRanks() {
	for i := range 3 {
		for n := range min(ranked, r.Numbers[fmt.Sprint("count ", i)]) {
			o, err := r.orders.NthByAmountByStatus(r.ctx, bazaar.Status(i), n)
			if r.err = cmp.Or(r.err, err); err != nil {
				return
			}
			r.addMember(fmt.Sprint("rank ", i), o.ID.String())
		}
	}
}

func (r *reader) verify(store string, indexes persistable.Indexes) {
	report, err := indexes.Verify(r.ctx, persistable.VerifyOptions{})
	r.err = cmp.Or(r.err, err)
	for _, fault := range report.Faults {
		r.Faults = append(r.Faults, fmt.Sprintf("%s%+v", store, fault))
	}
	for _, skipped := range report.Skipped {
		r.Faults = append(r.Faults, store+skipped+" is not readable")
	}
}
