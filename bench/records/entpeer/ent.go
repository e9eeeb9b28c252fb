// SPDX-License-Identifier: Apache-2.0

// Package entpeer is the store of users over ent and SQLite.
package entpeer

import (
	"context"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/records/entpeer/ent"
	"github.com/kazahana-db/kazahana/bench/records/entpeer/ent/user"
	"github.com/kazahana-db/kazahana/bench/records/sqlite"
)

type store struct {
	pools       *sqlite.Pools
	write, read *ent.Client
	plain       bool
}

// Open opens the store in a file, with prepared statements if it is not plain.
func Open(file string, form sqlite.Form) (records.Library, error) {
	pools, err := sqlite.Open(file, form)
	if err != nil {
		return nil, err
	}
	plain := form == sqlite.Plain
	s := &store{
		pools: pools, plain: plain,
		write: ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, pools.Write))),
		read:  ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, pools.Read))),
	}
	if err := s.write.Schema.Create(context.Background()); err != nil {
		return nil, err
	}
	if !plain {
		s.write = ent.NewClient(ent.Driver(newPreparedDriver(pools.Write)))
		s.read = ent.NewClient(ent.Driver(newPreparedDriver(pools.Read)))
	}
	return s, nil
}

func convert(u *ent.User) records.User {
	return records.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
}

func (s *store) create(u records.User) *ent.UserCreate {
	return s.write.User.Create().SetEmail(u.Email).SetName(u.Name).SetCategory(u.Category).SetCreatedAt(u.CreatedAt)
}

// Load implements [records.Store].
func (s *store) Load(ctx context.Context, users []records.User) ([]uint64, error) {
	const batch = 1000
	ids := make([]uint64, 0, len(users))
	for first := 0; first < len(users); first += batch {
		var some []*ent.UserCreate
		for _, u := range users[first:min(first+batch, len(users))] {
			some = append(some, s.create(u))
		}
		created, err := s.write.User.CreateBulk(some...).Save(ctx)
		if err != nil {
			return nil, err
		}
		for _, u := range created {
			ids = append(ids, uint64(u.ID))
		}
	}
	return ids, nil
}

// Save implements [records.Store].
func (s *store) Save(ctx context.Context, u records.User) error { return s.create(u).Exec(ctx) }

// Get implements [records.Store].
func (s *store) Get(ctx context.Context, id uint64) (records.User, error) {
	u, err := s.read.User.Get(ctx, int(id))
	if err != nil {
		return records.User{}, err
	}
	return convert(u), nil
}

// ByEmail implements [records.Store].
func (s *store) ByEmail(ctx context.Context, email string) (records.User, error) {
	u, err := s.read.User.Query().Where(user.Email(email)).Only(ctx)
	if err != nil {
		return records.User{}, err
	}
	return convert(u), nil
}

// ByCategory implements [records.Store].
func (s *store) ByCategory(ctx context.Context, category string, limit int) ([]records.User, error) {
	found, err := s.read.User.Query().Where(user.Category(category)).Order(ent.Asc(user.FieldCreatedAt)).Limit(limit).All(ctx)
	users := make([]records.User, 0, len(found))
	for _, u := range found {
		users = append(users, convert(u))
	}
	return users, err
}

// Count implements [records.Store].
func (s *store) Count(ctx context.Context) (int, error) { return s.read.User.Query().Count(ctx) }

// Close implements [records.Store].
func (s *store) Close() error { return s.pools.Close() }
