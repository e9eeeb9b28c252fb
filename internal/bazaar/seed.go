// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar/older"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Seed writes the database of the package's comment into an engine that has none of its
// directories.
func Seed(ctx context.Context, engine kv.Database) (err error) {
	db, err := persistable.OpenWith(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
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
