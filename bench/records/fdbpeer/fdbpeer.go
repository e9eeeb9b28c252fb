// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

// Package fdbpeer is the store of users written by hand over FoundationDB's
// official binding: the keys and values, and the rounds of reads, of the
// generated store, without anything between the program and the binding.
package fdbpeer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/directory"
	"github.com/apple/foundationdb/bindings/go/src/fdb/subspace"
	"github.com/apple/foundationdb/bindings/go/src/fdb/tuple"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/user"
	"github.com/kazahana-db/kazahana/idgen"
)

// byHand is the store. Its methods ignore the context of the interface: the binding has none.
type byHand struct {
	db         fdb.Database
	path       []string
	users      subspace.Subspace // (id)
	emails     subspace.Subspace // (address)
	categories subspace.Subspace // (category, nanoseconds, id)
	counts     subspace.Subspace // (category)
	pages      sync.Map          // int, the number of pages before, to the page's first key
}

var errTaken = errors.New("fdbpeer: the id or the address is taken")

// Open returns the store in a directory of its own, which Close removes.
func Open(clusterFile string, path []string) (records.Store, error) {
	db, err := fdb.OpenDatabase(clusterFile)
	if err != nil {
		return nil, err
	}
	dir, err := directory.CreateOrOpen(db, path, nil)
	if err != nil {
		return nil, err
	}
	return &byHand{
		db: db, path: path, users: dir.Sub("R", "User"),
		emails: dir.Sub("I", "User_Email_unique"), categories: dir.Sub("I", "User_Category_CreatedAt"),
		counts: dir.Sub("I", "User_count_Category"),
	}, nil
}

// entry is a user with the keys that it is kept under.
type entry struct {
	id                      idgen.ID
	record, email, category fdb.Key
	count                   fdb.Key
	value                   []byte
}

func (s *byHand) entry(u records.User) entry {
	id := idgen.NewID()
	r := user.User{ID: id, Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
	return entry{
		id: id, record: s.users.Pack(tuple.Tuple{int64(id)}), email: s.emails.Pack(tuple.Tuple{u.Email}),
		category: s.categories.Pack(tuple.Tuple{u.Category, nanoseconds(u.CreatedAt), int64(id)}),
		count:    s.counts.Pack(tuple.Tuple{u.Category}),
		value:    user.AppendByHand(header(), &r),
	}
}

// header is the format, the number of further chunks, and a random token.
func header() []byte {
	h := make([]byte, headerSize, 200)
	h[0] = 1
	_, _ = rand.Read(h[2:]) // never fails
	return h
}

const headerSize = 10

// one is the operand that adds 1 to a count.
var one = binary.LittleEndian.AppendUint64(nil, 1)

func nanoseconds(t time.Time) *big.Int {
	n := big.NewInt(t.Unix())
	return n.Add(n.Mul(n, big.NewInt(1e9)), big.NewInt(int64(t.Nanosecond())))
}

// createUsers reads the keys that must be absent, in one round, and writes.
func createUsers(tr fdb.Transaction, some []entry) error {
	reads := make([]fdb.FutureByteSlice, 0, 2*len(some))
	for _, e := range some {
		reads = append(reads, tr.Get(e.record), tr.Get(e.email))
	}
	for _, read := range reads {
		if found, err := read.Get(); err != nil {
			return err
		} else if found != nil {
			return errTaken
		}
	}
	for _, e := range some {
		tr.Set(e.record, e.value)
		tr.Set(e.email, tuple.Tuple{int64(e.id)}.Pack())
		tr.Set(e.category, nil)
		tr.Add(e.count, one)
	}
	return nil
}

// Load implements [records.Store].
func (s *byHand) Load(_ context.Context, users []records.User) (ids []uint64, err error) {
	const batch = 1000
	for some := range slices.Chunk(users, batch) {
		entries := make([]entry, 0, len(some))
		for _, u := range some {
			e := s.entry(u)
			entries, ids = append(entries, e), append(ids, uint64(e.id))
		}
		if err := s.createUsers(entries...); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Save implements [records.Store].
func (s *byHand) Save(_ context.Context, u records.User) error { return s.createUsers(s.entry(u)) }

func (s *byHand) createUsers(entries ...entry) error {
	_, err := s.db.Transact(func(tr fdb.Transaction) (any, error) { return nil, createUsers(tr, entries) })
	return err
}

// Get implements [records.Store].
func (s *byHand) Get(_ context.Context, id uint64) (records.User, error) {
	key := s.users.Pack(tuple.Tuple{int64(id)})
	value, err := s.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) { return tr.Get(key).Get() })
	if err != nil {
		return records.User{}, err
	}
	return decode(value.([]byte))
}

// ByEmail implements [records.Store].
func (s *byHand) ByEmail(_ context.Context, email string) (records.User, error) {
	key := s.emails.Pack(tuple.Tuple{email})
	value, err := s.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		id, err := tr.Get(key).Get()
		if err != nil {
			return nil, err
		}
		return tr.Get(s.recordKey(id)).Get()
	})
	if err != nil {
		return records.User{}, err
	}
	return decode(value.([]byte))
}

// recordKey returns the key of the record with a packed id.
func (s *byHand) recordKey(id []byte) fdb.Key {
	prefix := s.users.Bytes()
	return append(append(make(fdb.Key, 0, len(prefix)+len(id)), prefix...), id...)
}

// ByCategory implements [records.Store].
func (s *byHand) ByCategory(_ context.Context, category string, limit int) ([]records.User, error) {
	return s.readCategory(category, fdb.RangeOptions{Limit: limit, Mode: fdb.StreamingModeWantAll})
}

func (s *byHand) readCategory(category string, o fdb.RangeOptions) ([]records.User, error) {
	within := s.categories.Sub(category)
	values, err := s.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		entries, err := tr.GetRange(within, o).GetSliceWithError()
		if err != nil {
			return nil, err
		}
		return s.fetch(tr, within, entries)
	})
	if err != nil {
		return nil, err
	}
	return decodeAll(values.([][]byte))
}

func decodeAll(values [][]byte) ([]records.User, error) {
	found := make([]records.User, 0, len(values))
	for _, value := range values {
		u, err := decode(value)
		if err != nil {
			return nil, err
		}
		found = append(found, u)
	}
	return found, nil
}

// fetch reads the records of index entries in one round.
func (s *byHand) fetch(tr fdb.ReadTransaction, within subspace.Subspace, entries []fdb.KeyValue) ([][]byte, error) {
	reads := make([]fdb.FutureByteSlice, 0, len(entries))
	for _, e := range entries {
		at, err := within.Unpack(e.Key)
		if err != nil {
			return nil, err
		}
		reads = append(reads, tr.Get(s.users.Pack(at[1:])))
	}
	values := make([][]byte, 0, len(reads))
	for _, read := range reads {
		value, err := read.Get()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func decode(value []byte) (records.User, error) {
	if len(value) < headerSize || !bytes.HasPrefix(value, []byte{1, 0}) {
		return records.User{}, fmt.Errorf("fdbpeer: no record, or not of this format: %x", value)
	}
	var u user.User
	if err := user.DecodeByHand(value[headerSize:], &u); err != nil {
		return records.User{}, err
	}
	return records.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}, nil
}

// Count implements [records.Store]. It reads in steps that five seconds are
// enough for.
func (s *byHand) Count(context.Context) (int, error) {
	all, end := s.emails.FDBRangeKeys()
	begin := all.FDBKey()
	for n := 0; ; {
		const step = 20_000
		read, err := s.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
			return tr.Snapshot().GetRange(fdb.KeyRange{Begin: begin, End: end}, fdb.RangeOptions{Limit: step, Mode: fdb.StreamingModeWantAll}).GetSliceWithError()
		})
		if err != nil {
			return 0, err
		}
		some := read.([]fdb.KeyValue)
		if n += len(some); len(some) < step {
			return n, nil
		}
		begin = append(some[len(some)-1].Key, 0)
	}
}

// Close implements [records.Store].
func (s *byHand) Close() error {
	_, err := directory.Root().Remove(s.db, s.path)
	return err
}
