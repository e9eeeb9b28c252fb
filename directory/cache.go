// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// CacheOptions modify a [Cache]. The zero value is ready to use.
type CacheOptions struct {
	// MaxEntries bounds the directories remembered; beyond it, ones not used
	// lately are forgotten. The default value is 10,000, about 10 MB.
	MaxEntries int
	// VerifyNodes reads a remembered directory's metadata again at each
	// opening: one round of parallel reads instead of none. It is needed only
	// where programs that use other directory layers (the official bindings)
	// move or remove directories, since these do not announce it. The default
	// value is false.
	VerifyNodes bool
}

// Validate reports every fault of the options.
func (o CacheOptions) Validate() error {
	if o.MaxEntries < 0 {
		return fmt.Errorf("directory: MaxEntries is %d, must not be negative", o.MaxEntries)
	}
	return nil
}

// Cache remembers opened directories, so that opening one again costs no round
// of reads, and is safe: in no transaction that commits was a directory used
// that the database did not have at the commit.
//
//   - Whoever moves or removes a directory through this package also writes
//     \xff/metadataVersion. Its value arrives with a transaction's read
//     version. A directory is remembered with the value and the version at
//     which it was read, and believed only by transactions that see the same
//     value at that version or a later one: between the two, nothing was moved
//     or removed.
//   - For what happens between read version and commit, the cache adds the
//     keys of the links that lead to the directory to the transaction's read
//     conflicts, as if it had read them. A transaction that writes fails with
//     a conflict, and is retried, if one of them changed: the directory or one
//     above it moved or removed, by whatever program.
//   - What is remembered was read in a transaction of the cache's own, at the
//     read version of the caller's: never what a transaction wrote that may
//     yet fail.
//   - In a transaction that has itself moved or removed directories nothing
//     remembered is used (see [Invalidate]).
//
// A *Directory is good for the transaction in which it was opened: open it
// again, by the cache, in the next. Cache is safe for concurrent use.
type Cache struct {
	layer   *Layer
	db      kv.Database
	options CacheOptions
	entries entryTable
}

// NewCache returns an empty cache of the layer's directories in db, which must
// be the database of the transactions that are given to it.
func NewCache(l *Layer, db kv.Database, o CacheOptions) (*Cache, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = 10_000
	}
	return &Cache{layer: l, db: db, options: o, entries: newEntryTable(o.MaxEntries)}, nil
}

// Open is [Layer.Open] in tx, remembered.
func (c *Cache) Open(ctx context.Context, tx kv.Transaction, path []string, expects ...Expect) (*Directory, error) {
	return c.OpenRead(ctx, tx, path, expects...)
}

// OpenRead is [Cache.Open] for transactions that only read.
func (c *Cache) OpenRead(ctx context.Context, tx kv.ReadTransaction, path []string, expects ...Expect) (*Directory, error) {
	d, err := c.known(ctx, tx, path, expects)
	if d != nil || err != nil {
		return d, err
	}
	return c.layer.Open(ctx, tx, path, expects...)
}

// CreateOrOpen is [Layer.CreateOrOpen] in tx, remembered: a directory created
// is remembered by the first transaction that opens it after the commit.
func (c *Cache) CreateOrOpen(ctx context.Context, tx kv.Transaction, path []string, expects ...Expect) (*Directory, error) {
	d, err := c.known(ctx, tx, path, expects)
	if d != nil || err != nil {
		return d, err
	}
	return c.layer.CreateOrOpen(ctx, tx, path, expects...)
}

// known returns the directory at path if the database has it at tx's read
// version, and nil if it has not, or if tx may itself have moved or removed
// directories: then only tx knows what is there.
func (c *Cache) known(ctx context.Context, tx kv.ReadTransaction, path []string, expects []Expect) (*Directory, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("%w: it cannot be opened", ErrRoot)
	}
	want, err := expectationsOf(expects, len(path), 0)
	if err != nil {
		return nil, err
	}
	at, err := observe(ctx, tx)
	if err != nil || at == nil {
		return nil, openError(path, err)
	}
	e, err := c.entry(ctx, tx, at, path)
	if err != nil || e == nil {
		return nil, openError(path, err)
	}
	if err := e.protect(tx); err != nil {
		return nil, openError(path, err)
	}
	return e.directory, openError(path, e.check(want))
}

func openError(path []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("open directory %s: %w", pathString(path), err)
}

// entry returns the entry of path that is true at the moment, from memory or
// from the database, or nil if there is none.
func (c *Cache) entry(ctx context.Context, tx kv.ReadTransaction, at *moment, path []string) (*entry, error) {
	e := c.entries.get(path)
	if e == nil || !e.trueAt(at) {
		return c.load(ctx, at, path, e)
	}
	if !c.options.VerifyNodes {
		return e, nil
	}
	same, err := unchanged(ctx, tx, e.facts)
	if err != nil || same {
		return e, err
	}
	c.entries.remove(path, e)
	return nil, nil
}

// load reads the entry of path at a moment, and remembers it. It reads in a
// transaction of its own, which has no writes that it might see. What is
// remembered from an earlier moment is tried first: if nothing of it has
// changed it costs one round of reads instead of one for each element.
func (c *Cache) load(ctx context.Context, at *moment, path []string, old *entry) (*entry, error) {
	if err := c.layer.checkPath(path); err != nil {
		return nil, err
	}
	tx, err := c.db.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	tx.SetReadVersion(at.version)
	committed, err := observe(ctx, tx)
	if err != nil || committed == nil {
		return nil, err
	}
	if committed.metadata != at.metadata {
		return nil, nil // the caller's transaction sees a write of its own
	}
	e, err := c.layer.loadEntry(ctx, tx.Snapshot(), *committed, path, old)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		c.entries.put(path, e)
	}
	return e, err
}
