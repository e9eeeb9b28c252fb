// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

var ctx = context.Background()

func open(b *testing.B) (kv.Database, *UserStore) {
	b.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { engine.Close() })
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return engine, UserStoreOf(db)
}

func numbered(i int) *User {
	n := strconv.Itoa(i)
	return NewUser(User{Email: "user" + n + "@example.com", Name: "User " + n, Category: "premium", CreatedAt: sample.CreatedAt})
}

// BenchmarkGet reads a user by id: through the store, and by hand on kv.
func BenchmarkGet(b *testing.B) {
	engine, users := open(b)
	ids := make([]idgen.ID, 1000)
	for i := range ids {
		u := numbered(i)
		if err := users.Create(ctx, u); err != nil {
			b.Fatal(err)
		}
		ids[i] = u.ID
	}
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := users.Get(ctx, ids[i%len(ids)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	dir, err := directory.Root().Open(ctx, engine, []string{"users"})
	if err != nil {
		b.Fatal(err)
	}
	prefix, err := dir.Prefix()
	if err != nil {
		b.Fatal(err)
	}
	hand := byHand{engine, prefix}
	b.Run("by-hand", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := hand.get(ids[i%len(ids)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCreate creates users: one unique, one compound and one count index.
func BenchmarkCreate(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		_, users := open(b)
		b.ReportAllocs()
		for i := range b.N {
			if err := users.Create(ctx, numbered(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by-hand", func(b *testing.B) {
		engine, _ := open(b)
		hand := byHand{engine, []byte{0x15, 0x05}}
		b.ReportAllocs()
		for i := range b.N {
			if err := hand.create(numbered(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// byHand reads and writes the keys and values of the store as one would
// without it, and with its checks: the id is free, the address is free.
type byHand struct {
	db     kv.Database
	prefix []byte
}

func (h byHand) key(space, name string) []byte {
	return tuple.AppendString(tuple.AppendString(slices.Clone(h.prefix), space), name)
}

const header = 10 // format, chunks, token

func (h byHand) get(id idgen.ID) (*User, error) {
	return kv.ReadTransact(ctx, h.db, func(tx kv.ReadTransaction) (*User, error) {
		value, err := tx.Get(tuple.AppendInt(h.key("R", "User"), int64(id))).Get(ctx)
		if err != nil {
			return nil, err
		}
		u := new(User)
		return u, DecodeByHand(value[header:], u)
	})
}

func (h byHand) create(u *User) error {
	return h.db.Transact(ctx, func(tx kv.Transaction) error {
		id := tuple.AppendInt(nil, int64(u.ID))
		record := append(h.key("R", "User"), id...)
		email := tuple.AppendString(h.key("I", "User_Email_unique"), u.Email)
		have, owner := tx.Get(record), tx.Get(email)
		for _, read := range []kv.Future[[]byte]{have, owner} {
			if value, err := read.Get(ctx); err != nil || value != nil {
				return err
			}
		}
		category := tuple.AppendString(h.key("I", "User_Category_CreatedAt"), u.Category)
		category = append(persistimpl.AppendTime(category, u.CreatedAt), id...)
		tx.Set(record, AppendByHand(make([]byte, header, 128), u))
		tx.Set(email, id)
		tx.Set(category, nil)
		tx.Atomic(kv.Add, tuple.AppendString(h.key("I", "User_count_Category"), u.Category), kv.Int64(1))
		return nil
	})
}
