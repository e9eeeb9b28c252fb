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

// Open opens the database in a file. Plain is one pool as database/sql makes it.
// Otherwise it is set up as a server should have it: one connection that writes,
// since SQLite has one writer at a time and a queue is faster than collisions;
// one a processor that read; and a cache that holds everything.
func Open(file string, plain bool) (*Pools, error) {
	if plain {
		db, err := open(file, "deferred", 0)
		return &Pools{db, db}, err
	}
	cache := []string{"cache_size(-262144)", "temp_store(MEMORY)"}
	write, err := open(file, "immediate", 1, cache...)
	if err != nil {
		return nil, err
	}
	read, err := open(file, "deferred", runtime.GOMAXPROCS(0), cache...)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &Pools{write, read}, nil
}

func open(file, lock string, connections int, pragmas ...string) (*sql.DB, error) {
	options := url.Values{"_txlock": {lock}, "_pragma": append([]string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
	}, pragmas...)}
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?%s", file, options.Encode()))
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
