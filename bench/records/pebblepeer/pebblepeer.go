// SPDX-License-Identifier: Apache-2.0

// Package pebblepeer is the store of users written by hand over Pebble: a key for
// each record and each entry of an index, and counts by Pebble's merge operator.
package pebblepeer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/user"
	"github.com/kazahana-db/kazahana/idgen"
)

// The first byte of each key. Within a space, values end with a zero byte.
const (
	userKeys       = 'u' // id: record
	emailKeys      = 'e' // address: id
	categoryKeys   = 'c' // category, time, id
	categoryCounts = 'n' // category: number
	playerKeys     = 'p' // id: record
	teamKeys       = 't' // team, time, id: score and name
	countryCounts  = 'C' // country: number
)

// store is the store. Its methods ignore the context of the interface: Pebble has none.
type store struct {
	db   *pebble.DB
	last atomic.Uint64 // the last id

	seed  maphash.Seed
	locks [256]sync.Mutex // of addresses and ids, by their hash: Pebble has no transactions
}

var errTaken = errors.New("pebblepeer: the address is taken")

// Open opens the store in a folder, with options but for the merger.
func Open(dir string, o *pebble.Options) (records.Library, error) {
	o.Merger = counter
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	s := &store{db: db, seed: maphash.MakeSeed()}
	return s, s.findLast()
}

// findLast finds the last id, of users and players.
func (s *store) findLast() error {
	for _, space := range []byte{userKeys, playerKeys} {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
		if err != nil {
			return err
		}
		if it.Last() {
			s.last.Store(max(s.last.Load(), binary.BigEndian.Uint64(it.Key()[1:])))
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

// MergeCounts has Pebble add up the operands of all counts of a store that is closed.
func MergeCounts(dir string, o *pebble.Options) (err error) {
	o.Merger = counter
	db, err := pebble.Open(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, space := range []byte{categoryCounts, countryCounts} {
		err = errors.Join(err, db.Compact(context.Background(), []byte{space}, []byte{space + 1}, false))
	}
	return err
}

func (s *store) lockOf(key []byte) *sync.Mutex {
	return &s.locks[maphash.Bytes(s.seed, key)%uint64(len(s.locks))]
}

func idKey(space byte, id uint64) []byte { return binary.BigEndian.AppendUint64([]byte{space}, id) }

func valueKey(space byte, value string) []byte {
	return append(append([]byte{space}, value...), 0)
}

// add puts a user into a batch.
func (s *store) add(b *pebble.Batch, u records.User) (id uint64, err error) {
	id = s.last.Add(1)
	r := user.User{ID: idgen.ID(id), Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}
	category := binary.BigEndian.AppendUint64(valueKey(categoryKeys, u.Category), uint64(u.CreatedAt.UnixNano()))
	return id, errors.Join(
		b.Set(idKey(userKeys, id), user.AppendByHand(nil, &r), nil),
		b.Set(valueKey(emailKeys, u.Email), binary.BigEndian.AppendUint64(nil, id), nil),
		b.Set(binary.BigEndian.AppendUint64(category, id), nil, nil),
		b.Merge(valueKey(categoryCounts, u.Category), one, nil),
	)
}

// checkFree returns an error if a user has the address.
func (s *store) checkFree(email []byte) error {
	_, closer, err := s.db.Get(email)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(errTaken, closer.Close())
}

// Load implements [records.Store]. The addresses must differ.
func (s *store) Load(_ context.Context, users []records.User) ([]uint64, error) {
	const batch = 1000
	ids := make([]uint64, 0, len(users))
	for some := range slices.Chunk(users, batch) {
		b := s.db.NewBatch()
		for _, u := range some {
			if err := s.checkFree(valueKey(emailKeys, u.Email)); err != nil {
				return nil, err
			}
			id, err := s.add(b, u)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		if err := errors.Join(b.Commit(pebble.Sync), b.Close()); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Save implements [records.Store].
func (s *store) Save(_ context.Context, u records.User) error {
	email := valueKey(emailKeys, u.Email)
	lock := s.lockOf(email)
	lock.Lock()
	defer lock.Unlock()
	if err := s.checkFree(email); err != nil {
		return err
	}
	b := s.db.NewBatch()
	if _, err := s.add(b, u); err != nil {
		return err
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

// Get implements [records.Store].
func (s *store) Get(_ context.Context, id uint64) (records.User, error) {
	u, err := s.get(idKey(userKeys, id))
	return records.User{Email: u.Email, Name: u.Name, Category: u.Category, CreatedAt: u.CreatedAt}, err
}

func (s *store) get(key []byte) (u user.User, err error) {
	value, closer, err := s.db.Get(key)
	if err != nil {
		return u, err
	}
	err = user.DecodeByHand(value, &u)
	return u, errors.Join(err, closer.Close())
}

// ByEmail implements [records.Store].
func (s *store) ByEmail(ctx context.Context, email string) (records.User, error) {
	value, closer, err := s.db.Get(valueKey(emailKeys, email))
	if err != nil {
		return records.User{}, err
	}
	id := binary.BigEndian.Uint64(value)
	if err := closer.Close(); err != nil {
		return records.User{}, err
	}
	return s.Get(ctx, id)
}

// ByCategory implements [records.Store].
func (s *store) ByCategory(ctx context.Context, category string, limit int) ([]records.User, error) {
	begin := valueKey(categoryKeys, category)
	return s.list(ctx, begin, after(begin), limit)
}

// after returns the first key after those with the prefix.
func after(prefix []byte) []byte {
	end := slices.Clone(prefix)
	end[len(end)-1]++
	return end
}

// list reads the users of the entries of a range.
func (s *store) list(ctx context.Context, begin, end []byte, limit int) (users []records.User, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: begin, UpperBound: end})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	users = make([]records.User, 0, limit)
	for ok := it.First(); ok && len(users) < limit; ok = it.Next() {
		key := it.Key()
		u, err := s.Get(ctx, binary.BigEndian.Uint64(key[len(key)-8:]))
		if err != nil {
			return nil, fmt.Errorf("the record of the entry %q: %w", key, err)
		}
		users = append(users, u)
	}
	return users, nil
}

// Count implements [records.Store].
func (s *store) Count(context.Context) (n int, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{emailKeys}, UpperBound: []byte{emailKeys + 1}})
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	return n, it.Close()
}

// Close implements [records.Store].
func (s *store) Close() error { return s.db.Close() }
