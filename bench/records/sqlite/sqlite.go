// SPDX-License-Identifier: Apache-2.0

// Package sqlite opens SQLite with a write-ahead log that is synced at each
// commit.
package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"

	_ "modernc.org/sqlite" // the driver
)

// Pools are the connections to a database.
type Pools struct {
	Write, Read *sql.DB
}

// Form is how SQLite is set up.
type Form int

const (
	// Tuned is as a server should have it: one connection that writes, since SQLite has one
	// writer at a time and a queue is faster than collisions; one a processor that read; and a
	// cache that holds everything.
	Tuned Form = iota
	// Plain is one pool as database/sql makes it.
	Plain
	// Native is Tuned with SQLite in C instead of its translation to Go. It needs cgo: see
	// [HasNative].
	Native
)

// String is what the names of libraries in that form end in.
func (f Form) String() string { return [...]string{", tuned", ", as it comes", " in C, tuned"}[f] }

// Open opens the database in a file.
func Open(file string, f Form) (*Pools, error) {
	if f == Plain {
		db, err := open(sourceOf(file, "deferred"), 0)
		return &Pools{db, db}, err
	}
	cached := func(lock string) source { return sourceOf(file, lock, "cache_size(-262144)", "temp_store(MEMORY)") }
	if f == Native {
		cached = func(lock string) source { return nativeSource(file, lock) }
	}
	write, err := open(cached("immediate"), 1)
	if err != nil {
		return nil, err
	}
	read, err := open(cached("deferred"), runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &Pools{write, read}, nil
}

// source is the name of a driver, and its name of the database.
type source struct{ driver, name string }

// sourceOf is the database in the translation of SQLite.
func sourceOf(file, lock string, pragmas ...string) source {
	options := url.Values{"_txlock": {lock}, "_pragma": append([]string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}, pragmas...)}
	return source{"sqlite", fmt.Sprintf("file:%s?%s", file, options.Encode())}
}

func open(s source, connections int) (*sql.DB, error) {
	db, err := sql.Open(s.driver, s.name)
	if err != nil {
		return nil, err
	}
	if connections > 0 {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, check(db)
}

// check makes sure that commits are synced.
func check(db *sql.DB) error {
	var mode string
	var level int
	err := errors.Join(db.QueryRow("PRAGMA journal_mode").Scan(&mode), db.QueryRow("PRAGMA synchronous").Scan(&level))
	if err == nil && (mode != "wal" || level != 2) {
		err = fmt.Errorf("SQLite has journal mode %s and level %d of syncing", mode, level)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// Close closes all connections.
func (p *Pools) Close() error { return errors.Join(p.Read.Close(), p.Write.Close()) }
