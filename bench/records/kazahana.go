// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"errors"
	"sync"

	"github.com/kazahana-db/kazahana/bench/user"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// kazahana is the store that persistgen generates.
type kazahana struct {
	engine  kv.Database
	db      *persistable.DB
	users   *user.UserStore
	players *user.PlayerStore
	tokens  sync.Map // of pages: int, the number of pages before, to string

	scanTokens sync.Map // likewise, of pages in the order of ids
}

// Open returns the generated store on an engine, which Close closes.
func Open(ctx context.Context, engine kv.Database) (Library, error) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return nil, err
	}
	return &kazahana{engine: engine, db: db, users: user.UserStoreOf(db), players: user.PlayerStoreOf(db)}, nil
}

func record(u User) *user.User {
	return user.NewUser(user.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt})
}

func plain(u *user.User) User { return User{u.Email, u.Name, u.Category, u.CreatedAt} }

// Load implements [Store].
func (k *kazahana) Load(ctx context.Context, users []User) ([]uint64, error) {
	records := make([]*user.User, 0, len(users))
	for _, u := range users {
		records = append(records, record(u))
	}
	if err := k.users.CreateMany(ctx, records, persistable.BatchOptions{}); err != nil {
		return nil, err
	}
	ids := make([]uint64, 0, len(records))
	for _, u := range records {
		ids = append(ids, uint64(u.ID))
	}
	return ids, nil
}

// Save implements [Store].
func (k *kazahana) Save(ctx context.Context, u User) error { return k.users.Create(ctx, record(u)) }

// Get implements [Store].
func (k *kazahana) Get(ctx context.Context, id uint64) (User, error) {
	u, err := k.users.Get(ctx, idgen.ID(id))
	if err != nil {
		return User{}, err
	}
	return plain(u), nil
}

// ByEmail implements [Store].
func (k *kazahana) ByEmail(ctx context.Context, email string) (User, error) {
	u, err := k.users.ByEmail(ctx, email)
	if err != nil {
		return User{}, err
	}
	return plain(u), nil
}

// ByCategory implements [Store].
func (k *kazahana) ByCategory(ctx context.Context, category string, limit int) ([]User, error) {
	found := make([]User, 0, limit)
	for u, err := range k.users.ByCategoryCreatedAt(category).Limit(limit).All(ctx) {
		if err != nil {
			return nil, err
		}
		found = append(found, plain(u))
	}
	return found, nil
}

// Count implements [Store].
func (k *kazahana) Count(ctx context.Context) (int, error) {
	return k.users.OrderedByEmail().Count(ctx)
}

// Close implements [Store].
func (k *kazahana) Close() error { return errors.Join(k.db.Close(), k.engine.Close()) }
