// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// records creates, changes, deletes and reads orders. Each order has one client.
type records struct {
	*chaos
	orders *bazaar.OrderStore

	mu        sync.Mutex
	n         int
	known     map[idgen.ID][]int64 // the amounts that an order may have; 0 says that there may be none
	fallbacks int
}

func newRecords(c *chaos, db *persistable.DB) *records {
	return &records{chaos: c, orders: bazaar.OrderStoreOf(db, "t1"), known: map[idgen.ID][]int64{}}
}

func (r *records) acknowledged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (r *records) work(ctx context.Context, client int, random *rand.Rand) {
	var own []idgen.ID
	for i := int64(1); ctx.Err() == nil; i++ {
		if len(own) == 0 || random.IntN(4) == 0 {
			o := r.orders.New(bazaar.Order{TenantID: "t1", Number: fmt.Sprint(name(client), "/", i), Country: "DE", Amount: i})
			err := r.bounded(ctx, random, func(ctx context.Context) error { return r.orders.Create(ctx, o) })
			if o.ID != 0 {
				r.meet(o.ID)
				r.note(o.ID, i, err)
				own = append(own, o.ID)
			}
			continue
		}
		r.use(ctx, random, own[random.IntN(len(own))], i)
	}
}

// use reads, deletes or changes an order.
func (r *records) use(ctx context.Context, random *rand.Rand, id idgen.ID, amount int64) {
	switch random.IntN(8) {
	case 0:
		r.note(id, 0, r.bounded(ctx, random, func(ctx context.Context) error { return r.orders.Delete(ctx, id) }))
	case 1, 2, 3:
		r.read(ctx, random, id)
	default:
		err := r.bounded(ctx, random, func(ctx context.Context) error {
			return r.orders.Update(ctx, id, func(o *bazaar.Order) error {
				o.Amount = amount
				return nil
			})
		})
		if errors.Is(err, persistable.ErrNotFound) && !kv.IsOutcomeUnknown(err) {
			r.compare(id, 0)
			return
		}
		r.note(id, amount, err)
	}
}

func (r *records) read(ctx context.Context, random *rand.Rand, id idgen.ID) {
	var amount int64
	err := r.bounded(ctx, random, func(ctx context.Context) error {
		o, err := r.orders.Get(ctx, id)
		if err == nil {
			amount = o.Amount
		}
		return err
	})
	if err == nil || errors.Is(err, persistable.ErrNotFound) {
		r.compare(id, amount)
	}
}

// meet notes a new ID. No order has it.
func (r *records) meet(id idgen.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[id] != nil {
		r.t.Errorf("the ID %d came twice", id)
	}
	if id.IsFallback() {
		r.fallbacks++
	}
	r.known[id] = []int64{0}
}

// note notes the outcome of a write. One that was acknowledged decides: a commit of an earlier write
// of the order that is still under way has read what this one wrote, and conflicts. A
// deletion that may have found nothing has written nothing, and decides nothing.
func (r *records) note(id idgen.ID, amount int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && (amount != 0 || !slices.Contains(r.known[id], 0)):
		r.n++
		r.known[id] = []int64{amount}
	case kv.IsOutcomeUnknown(err):
		r.known[id] = append(r.known[id], amount)
	}
}

// compare fails the test if an order has an amount that it cannot have.
func (r *records) compare(id idgen.ID, amount int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if !slices.Contains(r.known[id], amount) {
		r.t.Errorf("the order %d has the amount %d, want one of %v (0: there is none)", id, amount, r.known[id])
	}
}

func (r *records) check(ctx context.Context) {
	stored, sum := map[idgen.ID]int64{}, int64(0)
	for o, err := range r.orders.Scan().All(ctx) {
		check(r.t, err)
		stored[o.ID], sum = o.Amount, sum+o.Amount
	}
	for id := range r.known {
		r.compare(id, stored[id])
	}
	for id := range stored {
		if r.known[id] == nil {
			r.t.Errorf("there is an order %d, which nobody has created", id)
		}
	}
	if n := must[int64](r.t)(r.orders.CountAll(ctx)); n != int64(len(stored)) {
		r.t.Errorf("the count is %d, and there are %d orders", n, len(stored))
	}
	if n := must[int64](r.t)(r.orders.SumAmountByCountry(ctx, "DE")); n != sum {
		r.t.Errorf("the sum is %d, and that of all orders %d", n, sum)
	}
	if report := must[persistable.Report](r.t)(r.orders.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		r.t.Errorf("faults: %v", report.Faults)
	}
	r.t.Logf("%d orders, %d IDs, of them %d fallbacks", len(stored), len(r.known), r.fallbacks)
}

// unique creates accounts. Several clients want the same email address at the same time.
type unique struct {
	*chaos
	accounts *bazaar.AccountStore

	mu       sync.Mutex
	begun, n int
	attempts map[string][]attempt // by email address
}

// attempt is an account that may have got an address.
type attempt struct {
	id            string
	acknowledged  bool
	certainlyNone bool
}

func newUnique(c *chaos, db *persistable.DB) *unique {
	return &unique{chaos: c, accounts: bazaar.AccountStoreOf(db, "t1"), attempts: map[string][]attempt{}}
}

func (u *unique) acknowledged() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

func (u *unique) work(ctx context.Context, client int, random *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		id, email := fmt.Sprint(name(client), "/", i), u.begin()
		err := u.bounded(ctx, random, func(ctx context.Context) error {
			return u.accounts.CreateWithID(ctx, id, bazaar.NewAccount(bazaar.Account{TenantID: "t1", Email: email, Plan: "free"}))
		})
		u.note(email, attempt{id, err == nil, err != nil && !kv.IsOutcomeUnknown(err)})
	}
}

// begin returns an address that as many clients get as there are.
func (u *unique) begin() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun++
	return fmt.Sprint(u.begun/clients, "@example.com")
}

func (u *unique) note(email string, a attempt) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.acknowledged {
		u.n++
	}
	u.attempts[email] = append(u.attempts[email], a)
}

func (u *unique) check(ctx context.Context) {
	holders, accounts := map[string]string{}, 0
	for a, err := range u.accounts.Scan().All(ctx) {
		check(u.t, err)
		holders[a.Email] = a.ID
		accounts++
	}
	if accounts != len(holders) {
		u.t.Errorf("%d accounts have %d addresses", accounts, len(holders))
	}
	for email, attempts := range u.attempts {
		for _, a := range attempts {
			if has := holders[email] == a.id; a.acknowledged && !has || a.certainlyNone && has {
				u.t.Errorf("%s is of the account %q, but of %+v", email, holders[email], attempts)
			}
		}
	}
	if report := must[persistable.Report](u.t)(u.accounts.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(report.Faults) > 0 {
		u.t.Errorf("faults: %v", report.Faults)
	}
}
