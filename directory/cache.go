// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// CacheOptions modify a [Cache]. The zero value is ready to use.
type CacheOptions struct {
	// MaxEntries is the maximum number of directories in the cache. Beyond it,
	// directories that were not used lately are dropped. The default value is
	// 10,000, about 10 MB.
	MaxEntries int
	// VerifyNodes reads a cached directory's metadata again at each opening: one
	// round of parallel reads instead of none. Set it if programs with other
	// directory layers (the official bindings) move or remove directories, since
	// these do not write \xff/metadataVersion. The default value is false.
	VerifyNodes bool
}

// Validate reports every fault of the options.
func (o CacheOptions) Validate() error {
	if o.MaxEntries < 0 {
		return fmt.Errorf("directory: MaxEntries is %d, must not be negative", o.MaxEntries)
	}
	return nil
}

// Cache keeps opened directories, so that opening one again costs no round of
// reads. A transaction that commits has used no directory that was moved or removed
// before its commit:
//
//   - Every move and removal by this package also writes \xff/metadataVersion. The
//     value of that key arrives with a transaction's read version. The cache keeps a
//     directory with that value and the version at which it was read. It gives it
//     only to transactions that see the same value at that version or a later one:
//     between the two, nothing was moved or removed.
//   - The cache adds the keys of the links that lead to the directory to the
//     transaction's read conflicts, as if it had read them. So a transaction that
//     writes conflicts, and is retried, if any program moves or removes the
//     directory or one above it between read version and commit.
//   - The cache reads in a transaction of its own, at the read version of the
//     caller's: it never keeps writes of a transaction that may still fail.
//   - A transaction that has itself moved or removed directories gets nothing from
//     the cache (see [Invalidate]).
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

// Open is [Layer.Open] in tx, from the cache.
func (c *Cache) Open(ctx context.Context, tx kv.Transaction, path []string, expects ...Expect) (*Directory, error) {
	return c.OpenRead(ctx, tx, path, expects...)
}

// OpenRead is [Cache.Open] for transactions that only read.
func (c *Cache) OpenRead(ctx context.Context, tx kv.ReadTransaction, path []string, expects ...Expect) (*Directory, error) {
	d, err := c.openKnown(ctx, tx, path, expects)
	if d != nil || err != nil {
		return d, err
	}
	return c.layer.Open(ctx, tx, path, expects...)
}

// CreateOrOpen is [Layer.CreateOrOpen] in tx, from the cache. A new directory gets
// into the cache when a transaction opens it after the commit.
func (c *Cache) CreateOrOpen(ctx context.Context, tx kv.Transaction, path []string, expects ...Expect) (*Directory, error) {
	d, err := c.openKnown(ctx, tx, path, expects)
	if d != nil || err != nil {
		return d, err
	}
	return c.layer.CreateOrOpen(ctx, tx, path, expects...)
}

// openKnown returns the directory at path if the database has it at tx's read
// version, and nil if it has not, or if tx may itself have moved or removed
// directories: then only tx knows what is there.
func (c *Cache) openKnown(ctx context.Context, tx kv.ReadTransaction, path []string, expects []Expect) (*Directory, error) {
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
	e, err := c.findEntry(ctx, tx, at, path)
	if err != nil || e == nil {
		return nil, openError(path, err)
	}
	if err := e.addConflicts(tx); err != nil {
		return nil, openError(path, err)
	}
	return e.directory, openError(path, e.checkLayers(want))
}

func openError(path []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("open directory %s: %w", pathString(path), err)
}

// findEntry returns the entry of path that is true at the moment, from memory or
// from the database, or nil if there is none.
func (c *Cache) findEntry(ctx context.Context, tx kv.ReadTransaction, at *moment, path []string) (*entry, error) {
	e := c.entries.get(path)
	if e == nil || !e.trueAt(at) {
		return c.loadEntry(ctx, at, path, e)
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

// loadEntry reads the entry of path at a moment, and keeps it. It reads in a
// transaction of its own, which has no writes. It tries an entry of an earlier
// moment first: if nothing of it has changed it costs one round of reads instead of
// one for each element.
func (c *Cache) loadEntry(ctx context.Context, at *moment, path []string, old *entry) (*entry, error) {
	if err := c.layer.checkPath(path); err != nil {
		return nil, err
	}
	tx, err := c.db.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Release()
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

// moment is a version of the database and the value that the metadata version
// key has there, "" if none.
type moment struct {
	version  int64
	metadata string
}

// observe returns the moment that tx reads, and nil if tx may have written the
// metadata version key. Both values arrive with the read version.
func observe(ctx context.Context, tx kv.ReadTransaction) (*moment, error) {
	version, err := tx.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	future, readable := changed.startRead(tx, version)
	if !readable {
		return nil, nil
	}
	value, err := future.Get(ctx)
	if kv.CodeOf(err) == kv.CodeAccessedUnreadable {
		return nil, fmt.Errorf("directory: the transaction has written \\xff/metadataVersion other than by directory.Invalidate: %w", err)
	}
	return &moment{version, string(value)}, err
}

// entry is a cached directory. Only used changes.
type entry struct {
	moment
	directory *Directory
	facts     []fact // the keys from which it is known, with their values
	used      atomic.Bool
}

// trueAt reports whether nothing was moved or removed between the moment at which
// the entry was read and m. It is false for an earlier m, when the directory may not
// have existed.
func (e *entry) trueAt(m *moment) bool {
	return e.metadata == m.metadata && e.version <= m.version
}

// addConflicts makes tx conflict with every move and removal of the directory or of
// a directory above it, by whatever program: each changes or clears one of the
// links on the path. Nothing else that is known of a directory can change
// while its links stay.
func (e *entry) addConflicts(tx kv.ReadTransaction) error {
	if w, ok := tx.(kv.Transaction); ok {
		return e.directory.Protect(w)
	}
	return nil
}

func (e *entry) checkLayers(want expectations) error {
	for _, x := range want {
		if got := e.directory.layers[x.element]; got != x.layer {
			return layerError(e.directory.path[:x.element+1], x.layer, got)
		}
	}
	return nil
}

// unchanged reads the facts again, all at once, and compares.
func unchanged(ctx context.Context, tx kv.ReadTransaction, facts []fact) (bool, error) {
	values := make([]kv.Future[[]byte], len(facts))
	for i, f := range facts {
		values[i] = tx.Get(f.key)
	}
	for i, f := range facts {
		value, err := values[i].Get(ctx)
		if err != nil {
			return false, err
		}
		if (value == nil) != (f.value == nil) || !bytes.Equal(value, f.value) {
			return false, nil
		}
	}
	return true, nil
}

// entryTable is a bounded map from paths to entries. To make room it drops an
// entry that was not used since the last look at it.
type entryTable struct {
	mu     *sync.RWMutex
	byPath map[string]*entry
	limit  int
}

func newEntryTable(limit int) entryTable {
	return entryTable{new(sync.RWMutex), map[string]*entry{}, limit}
}

// pathKey is an injective encoding of a path.
func pathKey(buf []byte, path []string) []byte {
	for _, name := range path {
		buf = binary.AppendUvarint(buf, uint64(len(name)))
		buf = append(buf, name...)
	}
	return buf
}

func (t *entryTable) get(path []string) *entry {
	var buf [128]byte
	key := pathKey(buf[:0], path)
	t.mu.RLock()
	e := t.byPath[string(key)]
	t.mu.RUnlock()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// put keeps e unless there is a newer entry.
func (t *entryTable) put(path []string, e *entry) {
	key := string(pathKey(nil, path))
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.byPath[key]; other != nil {
		if other.version <= e.version {
			t.byPath[key] = e
		}
		return
	}
	if len(t.byPath) >= t.limit {
		t.evict()
	}
	t.byPath[key] = e
}

// remove drops e.
func (t *entryTable) remove(path []string, e *entry) {
	key := string(pathKey(nil, path))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPath[key] == e {
		delete(t.byPath, key)
	}
}

// evict looks at up to eight entries in the map's random order and drops the first
// that was not used since evict looked at it before, or the last of them.
func (t *entryTable) evict() {
	victim, looks := "", 8
	for key, e := range t.byPath {
		victim = key
		if looks--; looks == 0 || !e.used.Swap(false) {
			break
		}
	}
	delete(t.byPath, victim)
}
