// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/tuple"
)

// DB keeps records in an engine. It is safe for concurrent use; a process needs
// one. The caller owns the engine and closes it after the DB.
type DB struct {
	engine   kv.Database
	options  Options
	dirs     *directory.Cache
	places   placeTable
	tokenKey []byte           // authenticates page tokens
	fences   []leasefdb.Fence // every transaction that writes checks them
	ids      *identities

	functions *runningFunctions
}

// Open returns a DB on the engine with default options. The first Open of a
// database writes the key of its page tokens. Close the DB before the engine.
func Open(ctx context.Context, engine kv.Database) (*DB, error) {
	return OpenWith(ctx, engine, Options{})
}

// OpenWith is [Open] with options.
func OpenWith(ctx context.Context, engine kv.Database, o Options) (*DB, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if engine == nil {
		return nil, errors.New("persistable: open: the engine is nil")
	}
	o = o.withDefaults()
	dirs, err := directory.NewCache(o.Layer, engine, directory.CacheOptions{MaxEntries: o.CacheSize})
	if err != nil {
		return nil, err
	}
	db := &DB{engine: engine, options: o, dirs: dirs, places: newPlaceTable(o.CacheSize), functions: new(runningFunctions)}
	if db.tokenKey, err = db.loadTokenKey(ctx); err != nil {
		return nil, fmt.Errorf("persistable: open: %w", err)
	}
	if db.ids, err = newIdentities(engine, o); err != nil {
		return nil, fmt.Errorf("persistable: open: %w", err)
	}
	return db, nil
}

// isOpen reports whether the DB comes from Open.
func (db *DB) isOpen() bool { return db != nil && db.engine != nil }

// mustBeOpen panics if the DB does not come from Open.
func (db *DB) mustBeOpen() {
	if !db.isOpen() {
		panic(fmt.Errorf("persistable: %w", errNoDB))
	}
}

// Engine returns the engine on which the DB was opened.
func (db *DB) Engine() kv.Database { return db.engine }

const tokenKeySize = 32

// loadTokenKey reads the key of page tokens. If there is none it writes a random one;
// a DB that only reads keeps it.
func (db *DB) loadTokenKey(ctx context.Context) ([]byte, error) {
	have, err := db.readTokenKey(ctx)
	if have != nil || err != nil {
		return have, err
	}
	fresh := make([]byte, tokenKeySize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	if db.options.ReadOnly {
		return fresh, nil
	}
	return db.writeTokenKey(ctx, fresh)
}

const (
	tokenKeyName = "page token key"
	// needsKeyName is the key of what the database as a whole needs of programs: a packed tuple
	// of texts, as [newer.ReadTuple] reads it. Nothing so far.
	needsKeyName = "needs"
)

// readTokenKey returns nil if there is no key. The error is an [ErrNewer] if the database needs
// what this program does not know.
func (db *DB) readTokenKey(ctx context.Context) (key []byte, err error) {
	err = db.engine.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := db.options.Layer.Open(ctx, tx, db.options.SystemPath)
		if errors.Is(err, directory.ErrNotFound) {
			key = nil
			return nil
		}
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		needs := tx.Get(tuple.AppendString(slices.Clone(prefix), needsKeyName))
		if key, err = tx.Get(tuple.AppendString(prefix, tokenKeyName)).Get(ctx); err != nil {
			return err
		}
		return db.checkNeeds(ctx, needs)
	})
	return key, err
}

func (db *DB) checkNeeds(ctx context.Context, read kv.Future[[]byte]) error {
	value, err := read.Get(ctx)
	if err != nil {
		return err
	}
	needs, err := newer.ReadTuple(value)
	switch {
	case err != nil:
		return err
	case db.options.ReadOnly:
		return newer.CheckRead(needs)
	}
	return newer.CheckWrite(needs)
}

// writeTokenKey returns the key that another process has written, or else writes the
// fresh one.
func (db *DB) writeTokenKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return kv.Transact(ctx, db.engine, func(tx kv.Transaction) ([]byte, error) {
		d, err := db.options.Layer.CreateOrOpen(ctx, tx, db.options.SystemPath)
		if err != nil {
			return nil, err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		key := tuple.AppendString(prefix, tokenKeyName)
		have, err := tx.Get(key).Get(ctx)
		if err != nil || have != nil {
			return have, err
		}
		tx.Set(key, fresh)
		return fresh, nil
	})
}

// ListDirectory returns the names of the directories in the directory at path,
// ascending: the tenants, for example. The list is empty if there is no directory at
// the path.
func (db *DB) ListDirectory(ctx context.Context, path ...string) ([]string, error) {
	db.mustBeOpen()
	names, err := db.options.Layer.List(ctx, db.engine, path)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	return names, err
}

// Format implements [fmt.Formatter]: it prints which engine the DB is on, and not
// the key that authenticates page tokens.
func (db *DB) Format(f fmt.State, _ rune) {
	if db == nil {
		fmt.Fprint(f, "<nil>")
		return
	}
	fmt.Fprintf(f, "persistable.DB{%T}", db.engine)
}
