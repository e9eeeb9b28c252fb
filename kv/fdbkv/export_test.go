// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// SetFewReaders changes from how many functions of ReadTransact on those of
// databases that are opened from then on share transactions, and returns what
// undoes that.
func SetFewReaders(n int64) (undo func()) {
	before := fewReaders
	fewReaders = n
	return func() { fewReaders = before }
}

// SharedDatabase is a database all of whose transactions begin as those of ReadTransact
// do when many read: also those that write.
type SharedDatabase struct{ *Database }

// Begin implements [kv.Database].
func (s SharedDatabase) Begin() (kv.Transaction, error) {
	t, err := s.beginReadTransaction(true)
	if err != nil {
		return nil, err
	}
	t.scoped = false
	return t, nil
}

// Transact implements [kv.Transactor].
func (s SharedDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	t, err := s.beginReadTransaction(true)
	if err != nil {
		return err
	}
	return kv.Retry(ctx, t, func(kv.Attempt) error { return fn(t) })
}

// ReadError and CommitError return the errors of a read and of a commit that the client ends with a code.
func ReadError(code kv.Code) error   { return new(futures).errorOf(cCode(code), "get") }
func CommitError(code kv.Code) error { return new(futures).errorOf(cCode(code), commitCall) }

// NoteVersion has the database take a version for one that it got now.
func (db *Database) NoteVersion(version int64) { db.versions.note(version, time.Now()) }

// KnownVersion returns the newest version that the database has read at or committed, if weak reads may
// read at it that are so stale.
func (db *Database) KnownVersion(staleness time.Duration) (version int64, ok bool) {
	return db.versions.fresh(staleness, 0)
}
