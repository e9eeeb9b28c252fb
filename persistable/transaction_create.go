// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// openOrCreateStore returns the store at a place for writing. It creates the
// directory and the header if they are missing, and adds to the header what this
// program's schema adds.
func (t *transaction) openOrCreateStore(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openToWrite(ctx, p)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return t.createStore(ctx, p)
	}
	if err := s.checkWritable(p); err != nil {
		return nil, err
	}
	return t.updateHeader(ctx, p, s)
}

// openStoreToWrite is openOrCreateStore, but returns nil if there is no store.
func (t *transaction) openStoreToWrite(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openToWrite(ctx, p)
	if err != nil || s == nil {
		return nil, err
	}
	if err := s.checkWritable(p); err != nil {
		return nil, err
	}
	return t.updateHeader(ctx, p, s)
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
func (t *transaction) createStore(ctx context.Context, p *place) (*openStore, error) {
	switch {
	case p.record.Dynamic != nil:
		return nil, p.noHeader()
	case p.db.HoldsSystem(p.path...):
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: "the database itself needs this directory: no records can be put there; " +
			"begin the directory of the type with a fixed name, or refuse such values of its {Field}s"}
	}
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
		if s, err = t.writeCatalog(p, d, prefix, format.NewCatalog(p.lock, p.scatter, p.definitions)); err != nil {
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
