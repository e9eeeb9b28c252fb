// SPDX-License-Identifier: Apache-2.0

// Package clitest opens databases for the tests of verbs: one for the verb, and one for
// another process that changes the same database at the same time.
//
//	w := clitest.NewWorld(t)
//	w.Create("a", "b")
//	w.Must(verb(t.Context(), w.DB))
package clitest

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// World is an empty database that lives until the test ends.
type World struct {
	testing.TB
	Engine *enginetest.Lossy // loses acknowledgements of DB, not of Other
	DB     *persistable.DB   // of the verb
	Other  *persistable.DB   // of another process
}

// NewWorld opens a database for a test.
func NewWorld(tb testing.TB) World {
	tb.Helper()
	w := World{TB: tb, Engine: &enginetest.Lossy{Database: enginetest.Open(tb)}}
	w.DB, w.Other = w.Open(w.Engine), w.Open(w.Engine.Database)
	return w
}

// Open opens a DB without leases until the test ends.
func (w World) Open(engine kv.Database) *persistable.DB {
	w.Helper()
	db, err := persistable.Open(w.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	w.Must(err)
	w.Cleanup(func() { w.Must(db.Close()) })
	return db
}

// Must ends the test if err is an error.
func (w World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Create lets the other process make a directory and those above it.
func (w World) Create(path ...string) *directory.Directory {
	w.Helper()
	d, err := directory.Root().Create(w.Context(), w.Engine.Database, path)
	w.Must(err)
	return d
}

// Remove lets the other process remove a directory.
func (w World) Remove(path ...string) {
	w.Helper()
	w.Must(directory.Root().Remove(w.Context(), w.Engine.Database, path))
}

// Move lets the other process move a directory: from a/b, to c/b.
func (w World) Move(from, to string) {
	w.Helper()
	_, err := directory.Root().Move(w.Context(), w.Engine.Database, strings.Split(from, "/"), strings.Split(to, "/"))
	w.Must(err)
}

// Exists reports whether there is a directory: a/b.
func (w World) Exists(path string) bool {
	w.Helper()
	is, err := directory.Root().Exists(w.Context(), w.Engine.Database, strings.Split(path, "/"))
	w.Must(err)
	return is
}

// Kill closes an embedded database, and leaves its folder as the end of its process would: with
// the commits in the log.
func Kill(db io.Closer, folder string) error {
	killed := folder + ".killed"
	err := os.CopyFS(killed, os.DirFS(folder))
	return errors.Join(err, db.Close(), os.RemoveAll(folder), os.Rename(killed, folder))
}
