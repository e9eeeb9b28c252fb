// SPDX-License-Identifier: Apache-2.0

// Package holdpeer is the store of users over badgerhold.
package holdpeer

import (
	"context"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/timshannon/badgerhold/v4"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/kazahana-db/kazahana/bench/records"
)

// user is the model. badgerhold has no indexes on two fields: a category is
// found by its index and sorted.
type user struct {
	ID        uint64 `badgerhold:"key"`
	Email     string `badgerhold:"unique"`
	Name      string
	Category  string `badgerhold:"index"`
	CreatedAt time.Time
}

func (u *user) toUser() records.User {
	return records.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
}

func model(u records.User) *user {
	return &user{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
}

type store struct{ db *badgerhold.Store }

// Open opens the store in a folder. Plain it encodes with gob, tuned with
// msgpack, which is much faster.
func Open(dir string, plain bool) (records.Library, error) {
	o := badgerhold.DefaultOptions
	o.Options = badger.DefaultOptions(dir).WithSyncWrites(true).WithLogger(nil)
	if !plain {
		o.Encoder, o.Decoder = msgpack.Marshal, msgpack.Unmarshal
		o.SequenceBandwith = 10_000
	}
	db, err := badgerhold.Open(o)
	if err != nil {
		return nil, err
	}
	return &store{db}, nil
}

// Load implements [records.Store].
func (s *store) Load(_ context.Context, users []records.User) ([]uint64, error) {
	const batch = 1000
	ids := make([]uint64, 0, len(users))
	for first := 0; first < len(users); first += batch {
		err := s.db.Badger().Update(func(tx *badger.Txn) error {
			for _, u := range users[first:min(first+batch, len(users))] {
				m := model(u)
				if err := s.db.TxInsert(tx, badgerhold.NextSequence(), m); err != nil {
					return err
				}
				ids = append(ids, m.ID)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Save implements [records.Store].
func (s *store) Save(_ context.Context, u records.User) error {
	return s.db.Insert(badgerhold.NextSequence(), model(u))
}

// Get implements [records.Store].
func (s *store) Get(_ context.Context, id uint64) (records.User, error) {
	var u user
	err := s.db.Get(id, &u)
	return u.toUser(), err
}

// ByEmail implements [records.Store].
func (s *store) ByEmail(_ context.Context, email string) (records.User, error) {
	var found []user // Find goes to the index directly, FindOne walks over it
	if err := s.db.Find(&found, badgerhold.Where("Email").Eq(email).Index("Email")); err != nil {
		return records.User{}, err
	}
	if len(found) != 1 {
		return records.User{}, fmt.Errorf("%d users have the address %s", len(found), email)
	}
	return found[0].toUser(), nil
}

// ByCategory implements [records.Store].
func (s *store) ByCategory(_ context.Context, category string, limit int) ([]records.User, error) {
	var found []user
	err := s.db.Find(&found, badgerhold.Where("Category").Eq(category).Index("Category").SortBy("CreatedAt").Limit(limit))
	users := make([]records.User, 0, len(found))
	for i := range found {
		users = append(users, found[i].toUser())
	}
	return users, err
}

// Count implements [records.Store].
func (s *store) Count(context.Context) (int, error) {
	n, err := s.db.Count(&user{}, nil)
	return int(n), err
}

// Close implements [records.Store].
func (s *store) Close() error { return s.db.Close() }
