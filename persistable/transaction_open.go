// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/tuple"
)

var metadataVersionKey = []byte(kv.MetadataVersionKey)

// lastKnown returns the store at a place as the DB last read it, nil if it never
// did. An operation starts its reads there and then calls openStore, or one of its
// variants, which confirms by the metadata version that the store has not
// changed. lastKnown starts the read of that version, so that all reads are one
// round. If openStore returns another store, the operation must start its reads
// again there, and use none of the first.
func (t *transaction) lastKnown(p *place) *openStore {
	known := p.known.Load()
	if known != nil {
		t.askMetadataVersion()
	}
	return known
}

// askMetadataVersion starts the read of the metadata version, once, where this
// transaction cannot have written it: in one that only reads, and in that of a single
// operation which has opened no place yet.
func (t *transaction) askMetadataVersion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked && (t.isReadOnly() || t.untouched) {
		t.asked, t.metadata = true, t.Reader.Snapshot().Get(metadataVersionKey)
	}
}

// takeMetadataVersion returns the read that askMetadataVersion started, if there is
// one and it may still be used.
func (t *transaction) takeMetadataVersion() (version kv.Future[[]byte], ok bool) {
	if !t.asked || !t.isReadOnly() && !t.untouched {
		return version, false
	}
	t.untouched = false // once: the operation may write the version next
	return t.metadata, true
}

// openStore returns the store at a place for reading; nil if nothing was ever
// written there.
func (t *transaction) openStore(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isReadOnly() {
		return t.openToRead(ctx, p)
	}
	return t.openToWrite(ctx, p)
}

// openToRead is openStore in a transaction that writes nothing: it can always
// read the metadata version, and what it has opened stays true. t.mu is held.
func (t *transaction) openToRead(ctx context.Context, p *place) (*openStore, error) {
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	read, ok := t.takeMetadataVersion()
	if !ok {
		read = t.Reader.Get(metadataVersionKey)
	}
	version, err := read.Get(ctx)
	if err != nil {
		return nil, err
	}
	s := p.known.Load()
	if s == nil || s.metadata != string(version) {
		if s, err = p.loadCommitted(ctx, t, string(version)); err != nil {
			return nil, err
		}
	}
	t.opened.add(p, s)
	return s, nil
}

// openToWrite is openStore in a transaction that writes. Once the transaction
// may have moved or removed directories, or changed a header, it must read these
// itself each time: nothing cached has its writes. t.mu is held.
func (t *transaction) openToWrite(ctx context.Context, p *place) (*openStore, error) {
	version, readable, err := t.metadataVersion(ctx)
	if err != nil {
		return nil, err
	}
	if !readable {
		return t.openUncached(ctx, p)
	}
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	s := p.known.Load()
	if s == nil || s.metadata != version {
		if s, err = p.loadCommitted(ctx, t, version); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return t.openUncached(ctx, p)
	}
	t.opened.add(p, s)
	return s, t.protectStore(s)
}

// metadataVersion returns the metadata version, and whether the transaction may
// still read it.
func (t *transaction) metadataVersion(ctx context.Context) (version string, readable bool, err error) {
	if read, ok := t.takeMetadataVersion(); ok {
		value, err := read.Get(ctx)
		return string(value), true, err
	}
	return directory.MetadataVersion(ctx, t.writer)
}

// protectStore makes the transaction conflict with every change that makes s untrue:
// of the header, and a move or removal of the directory or of one above it.
func (t *transaction) protectStore(s *openStore) error {
	if err := t.writer.AddReadConflictKey(s.header); err != nil {
		return err
	}
	return s.directory.Protect(t.writer)
}

// openUncached opens a place by reads of the transaction itself, which see its
// own writes, and conflict. The result is not remembered: it may change again.
func (t *transaction) openUncached(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.Open(ctx, t.writer, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.readStore(ctx, t.writer, d)
}

// openPlaces are the places that a transaction has opened. The first needs no
// allocation: most transactions open one.
type openPlaces struct {
	first openPlace
	more  []openPlace
}

type openPlace struct {
	place *place
	store *openStore // nil: there is none
}

func (o *openPlaces) find(p *place) (s *openStore, found bool) {
	if o.first.place == p {
		return o.first.store, true
	}
	for _, other := range o.more {
		if other.place == p {
			return other.store, true
		}
	}
	return nil, false
}

func (o *openPlaces) add(p *place, s *openStore) {
	if o.first.place == nil {
		o.first = openPlace{p, s}
		return
	}
	o.more = append(o.more, openPlace{p, s})
}

// openOrCreateStore returns the store at a place for writing. If there is none, check
// says why it must not be created for what is to be written, in a store like the one that
// would be; if it is nil, openOrCreateStore returns nil. It then creates the directory and
// the header. It adds to a header what this program's schema adds.
func (t *transaction) openOrCreateStore(ctx context.Context, p *place, check func(*openStore) error) (s *openStore, created bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err = t.openToWrite(ctx, p)
	switch {
	case err != nil || s == nil && check == nil:
		return nil, false, err
	case s == nil:
		s, err = t.createStore(ctx, p, check)
		return s, err == nil, err
	}
	if err := s.checkWritable(p); err != nil {
		return nil, false, err
	}
	s, err = t.updateHeader(ctx, p, s)
	return s, false, err
}

// openStoreToWrite returns the store at a place for writing, nil if there is none.
func (t *transaction) openStoreToWrite(ctx context.Context, p *place) (*openStore, error) {
	s, _, err := t.openOrCreateStore(ctx, p, nil)
	return s, err
}

// openToPut opens a store for writes of records, or creates it as openOrCreateStore does.
// It returns nil if there is none, and a *[ForeignIndexError] if the store has an index
// that this program cannot maintain.
func (t *transaction) openToPut(ctx context.Context, p *place, check func(*openStore) error) (o *openStore, created bool, err error) {
	o, created, err = t.openOrCreateStore(ctx, p, check)
	if err == nil && o != nil {
		err = o.foreign.err
	}
	return o, created, err
}

// updateHeader adds to the header what this program's schema adds.
// t.mu is held.
func (t *transaction) updateHeader(ctx context.Context, p *place, s *openStore) (*openStore, error) {
	if s.upToDate {
		return s, nil
	}
	next := s.catalog.Clone()
	next.AddSchema(p.lock)
	return t.setCatalog(ctx, p, s, next)
}

// createStore creates the directory and the header of a place. The metadata
// version stays as it is, because no process caches that a store is missing. t.mu
// is held.
func (t *transaction) createStore(ctx context.Context, p *place, check func(*openStore) error) (*openStore, error) {
	catalog := format.NewCatalog(p.lock, p.scatter, p.definitions)
	switch {
	case p.record.Dynamic != nil:
		return nil, p.noHeader()
	case p.db.HoldsSystem(p.path...):
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: "the database itself needs this directory: no records can be put there; " +
			"begin the directory of the type with a fixed name, or refuse such values of its {Field}s"}
	}
	if err := check(newOpenStore(p, nil, nil, catalog)); err != nil {
		return nil, err
	}
	s, err := t.createDirectory(ctx, p, catalog)
	if err != nil {
		t.spoil(err)
	}
	return s, err
}

// createDirectory creates the directory and the header of a place.
func (t *transaction) createDirectory(ctx context.Context, p *place, catalog *format.Catalog) (*openStore, error) {
	d, err := p.db.options.Layer.CreateOrOpen(ctx, t.writer, p.path, p.expects...)
	if err != nil {
		return nil, err
	}
	settings := startSettings(t.writer, d)
	s, err := p.readStore(ctx, t.writer, d)
	if err != nil {
		return nil, err
	}
	tenants, err := settings.await(ctx, p.typ)
	if err != nil {
		return nil, err
	}
	if err := checkLocks(p, tenants); err != nil {
		return nil, err
	}
	if s == nil {
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		if s, err = t.writeCatalog(p, d, prefix, catalog); err != nil {
			return nil, err
		}
		s.tenants = tenants
	}
	t.opened.add(p, s)
	return s, nil
}

// changeCatalog changes the header of a store outside of a write.
func (t *transaction) changeCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.setCatalog(ctx, p, was, c)
	return err
}

// setCatalog changes the header of a store. Once the transaction commits, all
// processes drop what they cached of stores. t.mu is held.
func (t *transaction) setCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) (*openStore, error) {
	s, err := t.replaceCatalog(ctx, p, was, c)
	if err != nil {
		t.spoil(err)
	}
	return s, err
}

func (t *transaction) replaceCatalog(ctx context.Context, p *place, was *openStore, c *format.Catalog) (*openStore, error) {
	s, err := t.writeCatalog(p, was.directory, was.prefix, c)
	if err == nil {
		err = t.keepFormer(p, was, c)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range was.catalog.LostRecounts(c) {
		index.ClearUnknown(t.writer, was.prefix, name)
	}
	s.tenants = was.tenants
	return s, directory.Invalidate(ctx, t.writer)
}

func (t *transaction) writeCatalog(p *place, d *directory.Directory, prefix []byte, c *format.Catalog) (*openStore, error) {
	value, err := c.Encode()
	if err != nil {
		return nil, err
	}
	s := newOpenStore(p, d, prefix, c)
	t.writer.Set(s.header, value)
	return s, nil
}

// keepFormer keeps the header that the transaction replaces, under
// ("S", type, "history", versionstamp).
func (t *transaction) keepFormer(p *place, was *openStore, now *format.Catalog) error {
	if was.catalog.Describes(now) {
		return nil
	}
	value, err := format.Former{Until: time.Now(), Catalog: was.catalog}.Encode()
	if err != nil {
		return err
	}
	key, err := tuple.Tuple{tuple.Incomplete(0)}.PackVersionstamped(was.historyKey(p))
	if err != nil {
		return err
	}
	t.writer.Atomic(kv.SetVersionstampedKey, key, value)
	return nil
}
