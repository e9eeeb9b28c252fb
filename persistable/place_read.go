// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// loadCommitted reads the committed store at the transaction's read version, in a
// transaction of its own, and caches it: the caller's transaction may have
// written, and its writes may still fail. It returns nil if there is no store,
// or if the committed metadata version is not the given one.
func (p *place) loadCommitted(ctx context.Context, t *transaction, metadata string) (*openStore, error) {
	version, err := t.Reader.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := p.db.engine.Begin()
	if err != nil {
		return nil, err
	}
	defer kv.Release(tx)
	defer tx.Cancel()
	tx.SetReadVersion(version)
	snapshot := tx.Snapshot()
	committed, err := snapshot.Get(metadataVersionKey).Get(ctx)
	if err != nil || string(committed) != metadata {
		return nil, err
	}
	d, err := p.db.dirs.OpenRead(ctx, snapshot, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := p.readStore(ctx, snapshot, d)
	if err != nil || s == nil {
		return nil, err
	}
	s.metadata = metadata
	p.known.Store(s)
	return s, nil
}

// readStore reads the header of the store in a directory; nil if there is none.
// It returns a *[SchemaError] if the store's schema does not agree with the
// program's: no record or entry has been read or written by then.
func (p *place) readStore(ctx context.Context, reader kv.ReadTransaction, d *directory.Directory) (*openStore, error) {
	prefix, err := d.Prefix()
	if err != nil {
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: err.Error()}
	}
	if err := p.checkPrefix(prefix); err != nil {
		return nil, err
	}
	key := systemKey(prefix, p)
	settings := startSettings(reader, d)
	value, err := reader.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	c, err := format.DecodeCatalog(value)
	if err != nil {
		return nil, recordError(p.typ, "", key, err)
	}
	if err := p.checkSchema(c); err != nil {
		return nil, err
	}
	s := newOpenStore(p, d, prefix, c)
	s.tenants, err = settings.await(ctx, p.typ)
	return s, err
}

// checkReadable returns an *[IndexStateError] if an index may not be read.
func (p *place) checkReadable(o *openStore, i int) error {
	if ix := &o.indexes[i]; ix.State != index.Readable {
		return &IndexStateError{Type: p.typ, Index: ix.KeyName(), State: ix.State}
	}
	return nil
}

// checkSchema compares the program's schema with the one in a store's header.
func (p *place) checkSchema(c *format.Catalog) error {
	differences := schema.Coexistence(c.Schema(), p.lock)
	if len(differences) == 0 {
		return nil
	}
	e := &SchemaError{Type: p.typ, Path: p.path}
	for _, d := range differences {
		e.Differences = append(e.Differences, SchemaDifference{
			Field: d.Path, Number: d.Number, Store: d.There, Program: d.Here,
			Reason: d.Text("the store", "this program"), Remedy: remedyFor(d),
		})
		if d.Aspect == schema.Origin {
			e.Differences = e.Differences[len(e.Differences)-1:] // another type: its fields need not agree
			break
		}
	}
	return e
}
