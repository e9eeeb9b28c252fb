// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar/older"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// Seed writes the database of the package's comment into an engine that has none of its
// directories.
func Seed(ctx context.Context, engine kv.Database) (err error) {
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for i, n := range []int{24, 5, 1} {
		if err := seedTenant(ctx, db, fmt.Sprintf("tenant-%d", i+1), n); err != nil {
			return err
		}
	}
	return seedShared(ctx, db)
}

// seedTenant writes n orders, and accounts by both programs.
func seedTenant(ctx context.Context, db *persistable.DB, tenant string, n int) error {
	orders := OrderStoreOf(db, tenant)
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		bound := orders.In(tx)
		for i := range n {
			if err := bound.CreateWithID(ctx, firstOrder+idgen.ID(i), newOrder(tenant, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range 3 {
		a := &older.Account{TenantID: tenant, Email: fmt.Sprintf("user%d@example.com", i), Level: int32(i), Name: []string{"", "Ada", "Grace"}[i]}
		if err := older.AccountStoreOf(db, tenant).CreateWithID(ctx, accountID(i), a); err != nil {
			return err
		}
	}
	return seedNewerAccounts(ctx, AccountStoreOf(db, tenant), tenant)
}

// seedNewerAccounts lets the newer program build its index, and drop the older one's.
func seedNewerAccounts(ctx context.Context, accounts *AccountStore, tenant string) error {
	a := &Account{TenantID: tenant, Email: "new@example.com", Level: 1 << 40, Plan: "pro"}
	if err := accounts.CreateWithID(ctx, accountID(3), a); err != nil {
		return err
	}
	if err := accounts.Indexes().Build(ctx, persistable.BuildOptions{}); err != nil {
		return err
	}
	return accounts.Indexes().RemoveUnused(ctx)
}

// seedShared writes what belongs to no tenant.
func seedShared(ctx context.Context, db *persistable.DB) error {
	for i := range 6 {
		e := &Event{Tenant: fmt.Sprintf("tenant-%d", i%3+1), At: start.AddDate(i*2500, 0, 0), Text: fmt.Sprintf("event %d", i)}
		if err := EventStoreOf(db).CreateWithID(ctx, eventID(i), e); err != nil {
			return err
		}
	}
	for i, name := range []string{"visits", "orders", "failures"} {
		c := &Counter{Name: name, Value: 1 << (i * 31)}
		if err := CounterStoreOf(db).CreateWithID(ctx, int64(i+1), c); err != nil {
			return err
		}
	}
	for _, name := range []string{"theme", "language"} {
		if err := SettingStoreOf(db).CreateWithID(ctx, name, &Setting{Value: "default"}); err != nil {
			return err
		}
	}
	return addForeignIndex(ctx, db)
}

// firstOrder is the id of each tenant's first order; those of the others follow.
const firstOrder = idgen.ID(72623859790382856)

var start = time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC)

// accountID returns the id of a tenant's i-th account.
func accountID(i int) string { return newULID(i).String() }

// eventID returns the id of the i-th event.
func eventID(i int) ulid.ULID { return newULID(100 + i) }

func newULID(i int) (id ulid.ULID) {
	_ = id.SetTime(uint64(start.UnixMilli()) + uint64(i)) // it fails beyond the year 10889
	id[15] = byte(i)
	return id
}

// addForeignIndex adds to the header of the settings an index with an option that this
// version does not know, as a newer one may do.
func addForeignIndex(ctx context.Context, db *persistable.DB) error {
	return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		d, err := db.Layer().Open(ctx, tx, []string{"settings"})
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		key := tuple.AppendString(tuple.AppendString(prefix, "S"), "Setting")
		value, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		header, err := tuple.Unpack(value)
		if err != nil {
			return err
		}
		header[1] = append(header[1].(tuple.Tuple), tuple.Tuple{"Setting_expiry", "Value:string:expires=5m", int64(2)})
		value, err = header.Pack()
		tx.Set(key, value)
		return err
	})
}

// newOrder returns the i-th order of a tenant. Every third has all its fields.
func newOrder(tenant string, i int) *Order {
	o := &Order{
		TenantID: tenant, Number: fmt.Sprintf("A-%d", 1001+i), Status: Status(i % 3), Country: []string{"DE", "FR", "IT", "DE"}[i%4],
		CreatedAt: start.Add(time.Duration(i) * time.Hour), Amount: int64(i*i*100 - 300), Units: uint32(i),
		Address: Address{City: []string{"Köln", "Paris", "Roma", ""}[i%4]}, Rate: float64(i) / 8,
	}
	if i%3 == 0 {
		o.fill(i)
	}
	return o
}

// fill sets the fields that many orders do not have.
func (o *Order) fill(i int) {
	editor, zip, paid := []string{"ada", "grace", ""}[i/3%3], "50667", o.CreatedAt.Add(time.Minute)
	o.Editor, o.PaidAt, o.Took, o.Done = &editor, &paid, 90*time.Second, true
	o.Tags = []string{"new", fmt.Sprintf("batch-%d", i/6)}
	o.Address.Street, o.Address.Zip = "Domkloster 4", &zip
	o.Billing = &Address{Street: `Rue "Lepic" 12`, City: "Paris"}
	o.Lines = []Line{{Product: "tea", Quantity: 2, Price: 450}, {Product: "cup", Quantity: int32(i), Price: 1250}}
	o.Notes = map[string]string{"gift": "yes", "door": "left\nof the gate"}
	o.Hash, o.Photo, o.Key = [4]byte{0xca, 0xfe, 0, byte(i)}, []byte{0, 1, 2, 0xff}, eventID(i)
}
