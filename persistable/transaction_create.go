// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

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
