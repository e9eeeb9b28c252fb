// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// openStore is a place with its directory opened and its header read. It is
// immutable.
type openStore struct {
	prefix   []byte // of the directory
	records  []byte // of the keys of records: ("R", type)
	header   []byte // the key of the header: ("S", type)
	catalog  *catalog
	indexes  []index.Index // in the order of the schema
	metadata string        // the metadata version at which it was read
	upToDate bool          // a write need not change the header first
}

func (p *place) openStore(prefix []byte, c *catalog) *openStore {
	s := &openStore{prefix: prefix, catalog: c}
	s.records = tuple.AppendString(tuple.AppendString(slices.Clone(prefix), "R"), p.typ)
	s.header = s.system(p)
	for _, d := range p.definitions {
		s.indexes = append(s.indexes, index.Index{
			Definition:      d,
			Prefix:          d.AppendPrefix(slices.Clone(prefix)),
			ViolationPrefix: s.system(p, "violation", d.KeyName()),
			State:           c.state(d),
		})
	}
	next := c.clone()
	s.upToDate = !next.disableOthers(p.definitions) && !next.addFields(p.fields)
	return s
}

// system returns a key of what the store remembers: ("S", type, names…).
func (s *openStore) system(p *place, names ...string) []byte {
	key := tuple.AppendString(tuple.AppendString(slices.Clone(s.prefix), "S"), p.typ)
	for _, name := range names {
		key = tuple.AppendString(key, name)
	}
	return key
}

// metadata is the metadata version that a transaction sees. It is read once.
type metadata struct {
	read    bool
	hidden  bool // the transaction itself changes it: nothing cached may be used
	version []byte
}

func (t *transaction) metadataVersion(ctx context.Context) (metadata, error) {
	if t.metadata.read {
		return t.metadata, nil
	}
	// In a transaction that writes, the read conflicts: what is cached must
	// still be true at the commit.
	version, err := t.reader.Get(metadataVersionKey).Get(ctx)
	switch {
	case kv.CodeOf(err) == kv.CodeAccessedUnreadable:
		t.metadata = metadata{read: true, hidden: true}
	case err != nil:
		return metadata{}, err
	default:
		t.metadata = metadata{read: true, version: version}
	}
	return t.metadata, nil
}

var metadataVersionKey = []byte(kv.MetadataVersionKey)

// changeMetadata tells all processes that what they cached of some store is
// void once the transaction commits.
func (t *transaction) changeMetadata() {
	t.writer.Atomic(kv.SetVersionstampedValue, metadataVersionKey, make([]byte, kv.VersionstampSize+4))
	t.metadata = metadata{read: true, hidden: true}
}

// open returns the store at a place for reading, and nil if nobody has ever
// written there.
func (t *transaction) open(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.openLocked(ctx, p)
}

func (t *transaction) openLocked(ctx context.Context, p *place) (*openStore, error) {
	for _, o := range t.opened {
		if o.place == p {
			return o.store, nil
		}
	}
	m, err := t.metadataVersion(ctx)
	if err != nil {
		return nil, err
	}
	if s := p.known.Load(); s != nil && !m.hidden && s.metadata == string(m.version) {
		return s, t.remember(p, s)
	}
	s, err := t.openAnew(ctx, p, m)
	if err != nil || s == nil && t.writer != nil {
		return nil, err
	}
	return s, t.remember(p, s)
}

// remember keeps s for the rest of the transaction, and makes a writing
// transaction conflict with changes of the header: also with the removal of the
// directory, which clears it. That there is nothing is remembered only where
// nothing can come.
func (t *transaction) remember(p *place, s *openStore) error {
	t.opened = append(t.opened, openPlace{p, s})
	if t.writer == nil {
		return nil
	}
	return t.writer.AddReadConflictKey(s.header)
}

// openAnew opens a place that is not cached, or not as the transaction sees it.
func (t *transaction) openAnew(ctx context.Context, p *place, m metadata) (*openStore, error) {
	if !m.hidden {
		s, err := p.load(ctx, t, m)
		if s != nil || err != nil || t.writer == nil {
			return s, err
		}
	}
	d, err := p.db.options.Layer.Open(ctx, t.reader, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.read(ctx, t.reader, d)
}

// load reads what is committed at the transaction's read version, in a
// transaction of its own, and caches it. The transaction's own writes, which
// may yet fail, are not seen.
func (p *place) load(ctx context.Context, t *transaction, m metadata) (*openStore, error) {
	version, err := t.reader.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := p.db.engine.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	tx.SetReadVersion(version)
	view := tx.Snapshot()
	committed, err := view.Get(metadataVersionKey).Get(ctx)
	if err != nil || string(committed) != string(m.version) {
		return nil, err
	}
	d, err := p.db.dirs.OpenRead(ctx, view, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := p.read(ctx, view, d)
	if err != nil || s == nil {
		return nil, err
	}
	s.metadata = string(m.version)
	p.known.Store(s)
	return s, nil
}

// read reads the header of the store in a directory; nil if there is none.
func (p *place) read(ctx context.Context, reader kv.ReadTransaction, d *directory.Directory) (*openStore, error) {
	prefix, err := d.Prefix()
	if err != nil {
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: err.Error()}
	}
	probe := openStore{prefix: prefix}
	key := probe.system(p)
	value, err := reader.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	c, err := decodeCatalog(value)
	if err != nil {
		return nil, recordError(p.typ, "", key, err)
	}
	return p.openStore(prefix, c), nil
}

// openForWriting returns the store at a place, creating directory and header
// where they are missing, and the header's entries that this program adds.
func (t *transaction) openForWriting(ctx context.Context, p *place) (*openStore, error) {
	if t.writer == nil {
		return nil, ErrReadOnly
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openLocked(ctx, p)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return t.create(ctx, p)
	}
	return t.bringUpToDate(p, s)
}

// openForDeleting is openForWriting, but where there is nothing it creates
// nothing and returns nil.
func (t *transaction) openForDeleting(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openLocked(ctx, p)
	if err != nil || s == nil {
		return nil, err
	}
	return t.bringUpToDate(p, s)
}

// bringUpToDate changes the header where this program's writes would make it
// untrue.
func (t *transaction) bringUpToDate(p *place, s *openStore) (*openStore, error) {
	if s.upToDate {
		return s, nil
	}
	next := s.catalog.clone()
	next.disableOthers(p.definitions)
	next.addFields(p.fields)
	return t.setCatalog(p, s.prefix, next)
}

// create creates the directory and the header of a place. Nobody can have
// cached that they are missing, so the metadata version stays.
func (t *transaction) create(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.CreateOrOpen(ctx, t.writer, p.path, p.expects...)
	if err != nil {
		return nil, err
	}
	s, err := p.read(ctx, t.writer, d)
	if err != nil {
		return nil, err
	}
	if s == nil {
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		if s, err = t.writeCatalog(p, prefix, newCatalog(p)); err != nil {
			return nil, err
		}
	}
	return s, t.remember(p, s)
}

// setCatalog changes the header of a store.
func (t *transaction) setCatalog(p *place, prefix []byte, c *catalog) (*openStore, error) {
	s, err := t.writeCatalog(p, prefix, c)
	if err != nil {
		return nil, err
	}
	t.changeMetadata()
	for i := range t.opened {
		if t.opened[i].place == p {
			t.opened[i].store = s
		}
	}
	return s, nil
}

func (t *transaction) writeCatalog(p *place, prefix []byte, c *catalog) (*openStore, error) {
	value, err := c.encode()
	if err != nil {
		return nil, err
	}
	s := p.openStore(prefix, c)
	t.writer.Set(s.header, value)
	return s, nil
}
