// SPDX-License-Identifier: Apache-2.0

// Package naive has the simplest engine that keeps the contract of package kv, and
// variants of it with one fault each: the suites of kv/kvtest must accept the first
// and reject the others.
package naive

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// naiveDB is the contract in its simplest form, for the tests of this package:
// every version is a whole map, every commit is compared with every other, and
// all happens under one lock. It leaves out sizes, system keys and age.
type naiveDB struct {
	mu       sync.Mutex
	versions []naiveVersion // oldest first
	watches  map[*naiveWatch]bool
	defaults kv.TransactionOptions
	closed   bool
}

// naiveVersion is the database after a commit, and what that commit wrote.
type naiveVersion struct {
	number int64
	pairs  model.Model
	wrote  []kv.KeyRange
}

type naiveWatch struct {
	key, seen string
	promise   *kv.Promise[struct{}]
}

// Open opens the engine that the wrappers and suites are tested on.
func Open(tb testing.TB) kv.Database {
	tb.Helper()
	return OpenWith(tb, kv.TransactionOptions{})
}

// OpenWith opens it with defaults of transactions.
func OpenWith(tb testing.TB, d kv.TransactionOptions) kv.Database {
	tb.Helper()
	db := newNaive()
	db.defaults = d
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func newNaive() *naiveDB {
	first := naiveVersion{number: time.Now().UnixMicro(), pairs: model.Model{}}
	return &naiveDB{versions: []naiveVersion{first}, watches: map[*naiveWatch]bool{}}
}

// Begin implements [kv.Database].
func (d *naiveDB) Begin() (kv.Transaction, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, kv.ErrClosed
	}
	t := &naiveTx{db: d, committed: -1, options: d.defaults}
	t.naiveView = naiveView{t, false}
	t.renew()
	t.begun()
	return t, nil
}

// Transact implements [kv.Transactor].
func (d *naiveDB) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d *naiveDB) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// Close implements [kv.Database].
func (d *naiveDB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for w := range d.watches {
		w.promise.Resolve(struct{}{}, kv.ErrClosed)
	}
	clear(d.watches)
	return nil
}

func (d *naiveDB) last() naiveVersion { return d.versions[len(d.versions)-1] }

// at returns the pairs as of a version.
func (d *naiveDB) at(version int64) (model.Model, error) {
	switch {
	case version < d.versions[0].number:
		return nil, kv.NewError(kv.CodeTransactionTooOld, "")
	case version > d.last().number+kv.VersionsPerSecond*100:
		return nil, kv.NewError(kv.CodeFutureVersion, "")
	}
	i := len(d.versions) - 1
	for d.versions[i].number > version {
		i--
	}
	return d.versions[i].pairs, nil
}

// conflicting returns those of reads to which something was written after a
// version.
func (d *naiveDB) conflicting(reads []kv.KeyRange, version int64) (lost []kv.KeyRange) {
	for _, r := range reads {
		if slices.ContainsFunc(d.versions, func(v naiveVersion) bool {
			return v.number > version && slices.ContainsFunc(v.wrote, func(w kv.KeyRange) bool { return overlap(r, w) })
		}) {
			lost = append(lost, r)
		}
	}
	return lost
}

func overlap(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}

// apply commits writes and returns the versionstamp.
func (d *naiveDB) apply(writes []naiveWrite, conflicts []kv.KeyRange) []byte {
	number := max(d.last().number+100, time.Now().UnixMicro())
	stamp := append(binary.BigEndian.AppendUint64(nil, uint64(number)), 0, 0)
	next := naiveVersion{number, maps.Clone(d.last().pairs), slices.Clone(conflicts)}
	for _, w := range writes {
		w = w.stamped(stamp)
		w.apply(next.pairs)
		if w.op == kv.SetVersionstampedKey {
			next.wrote = append(next.wrote, w.keys)
		}
	}
	d.versions = append(d.versions, next)
	d.fire()
	return stamp
}

// fire ends the watches of keys that have changed.
func (d *naiveDB) fire() {
	for w := range d.watches {
		if seen(d.last().pairs, w.key) != w.seen {
			w.promise.Resolve(struct{}{}, nil)
			delete(d.watches, w)
		}
	}
}

func seen(m model.Model, key string) string {
	if value, ok := m[key]; ok {
		return value
	}
	return model.Absent
}

func single(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: bytes.Clone(key), End: kv.Successor(key)}
}

// Kinds of writes other than the atomic operations.
const (
	naiveSet   kv.MutationType = -1
	naiveClear kv.MutationType = -2
)

// naiveWrite is one write: of one key, or the clearing of a range.
type naiveWrite struct {
	op      kv.MutationType
	keys    kv.KeyRange
	operand []byte
}

// fault is what is wrong with a write.
func (w naiveWrite) fault() error {
	switch key := w.keys.Begin; {
	case w.op == naiveClear && bytes.Compare(key, w.keys.End) > 0:
		return kv.NewError(kv.CodeInvertedRange, "")
	case string(key) != kv.MetadataVersionKey && bytes.Compare(w.keys.End, []byte("\xff\x00")) >= 0:
		return kv.NewError(kv.CodeKeyOutsideLegalRange, "")
	case w.op != naiveClear && len(key) > kv.MaxKeySize:
		return kv.NewError(kv.CodeKeyTooLarge, "")
	case len(w.operand) > kv.MaxValueSize:
		return kv.NewError(kv.CodeValueTooLarge, "")
	case w.op >= 0 && !w.stamps() && !slices.Contains(model.Operations(), w.op):
		return kv.NewError(kv.CodeInvalidMutationType, "")
	}
	if text := w.template(); text != nil && (len(text) < 14 || stampOffset(text)+14 > len(text)) {
		return kv.NewError(kv.CodeClientInvalidOperation, "no room for a versionstamp")
	}
	return nil
}

// stamps reports whether the write receives a versionstamp.
func (w naiveWrite) stamps() bool {
	return w.op == kv.SetVersionstampedKey || w.op == kv.SetVersionstampedValue
}

// template is the key or value that receives a versionstamp.
func (w naiveWrite) template() []byte {
	switch w.op {
	case kv.SetVersionstampedKey:
		return w.keys.Begin
	case kv.SetVersionstampedValue:
		return append([]byte{}, w.operand...)
	}
	return nil
}

func stampOffset(text []byte) int { return int(binary.LittleEndian.Uint32(text[len(text)-4:])) }

// stamped fills in the versionstamp.
func (w naiveWrite) stamped(stamp []byte) naiveWrite {
	text := bytes.Clone(w.template())
	if text == nil {
		return w
	}
	copy(text[stampOffset(text):], stamp)
	text = text[:len(text)-4]
	if w.op == kv.SetVersionstampedKey {
		w.keys = single(text)
	} else {
		w.operand = text
	}
	return w
}

// unreadable is what cannot be read until the commit.
func (w naiveWrite) unreadable() kv.KeyRange {
	switch w.op {
	case kv.SetVersionstampedValue:
		return w.keys
	case kv.SetVersionstampedKey:
		return kv.PrefixRange(w.keys.Begin[:stampOffset(w.keys.Begin)])
	}
	return kv.KeyRange{}
}

// apply changes a model.
func (w naiveWrite) apply(m model.Model) {
	key := string(w.keys.Begin)
	if w.op == naiveClear {
		m.ClearRange(w.keys)
		return
	}
	switch w.op {
	case naiveSet, kv.SetVersionstampedKey, kv.SetVersionstampedValue:
		m[key] = string(w.operand)
	default:
		m.Atomic(w.op, key, w.operand)
	}
}
