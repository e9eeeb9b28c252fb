// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// Open opens the store of a type in the directory at the path by what its header says. typ
// may be empty if the directory has one type only; if it has several, the error is a
// *[SeveralTypesError]. If there is no such store, the error is [persistable.ErrNotFound], and a
// *[NoStoreError] if the directory exists; a header that cannot be read is a [*persistable.RecordError].
//
// If another program changes the header later, the store goes on as a program with the
// older schema does: it maintains the indexes that the header has then, and keeps fields
// that it does not know. Open it again to see them.
//
// Cost: a transaction with two rounds of reads, and one for each type in the directory.
func Open(ctx context.Context, db *persistable.DB, path []string, typ string) (*Store, error) {
	var d *directory.Directory
	var found []headers.Header
	err := db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		//persistvet:ignore txescape the store follows the path again in each transaction
		d, found, err = readHeaders(ctx, db, tx, path)
		return err
	})
	if errors.Is(err, directory.ErrNotFound) {
		err = fmt.Errorf("%w: %w", persistable.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	h, err := choose(found, path, typ)
	if err != nil {
		return nil, err
	}
	return newStore(db, d, h)
}

// Reopen opens the store again, perhaps in another DB on the same database, in the directory that
// it was opened in: if another directory has been put at the path since, Reopen and all operations
// of the new store return an error that is [persistable.ErrNotFound]. A program that has shown what
// it will remove, and asked, removes nothing else so.
//
// Cost: as for [Open].
func (s *Store) Reopen(ctx context.Context, db *persistable.DB) (*Store, error) {
	again, err := Open(ctx, db, s.Path(), s.typ.name)
	if err != nil {
		return nil, err
	}
	if again.schema.Dynamic.Prefix = s.prefix; !bytes.Equal(again.prefix, s.prefix) {
		return nil, fmt.Errorf("%w: the store of %s in the directory %q: another directory has been put there since it was opened", persistable.ErrNotFound, s.typ.name, strings.Join(s.Path(), "/"))
	}
	return again, nil
}

// choose returns the header of a type, or the only one.
func choose(found []headers.Header, path []string, typ string) (h headers.Header, err error) {
	types := headers.Types(found)
	i := slices.Index(types, typ)
	if typ == "" && len(found) == 1 {
		i = 0
	}
	switch {
	case i >= 0:
		return found[i], nil
	case typ == "" && len(found) > 1:
		return h, &SeveralTypesError{slices.Clone(path), types}
	}
	return h, &NoStoreError{slices.Clone(path), typ, types}
}

// newStore returns the store that a header describes.
func newStore(db *persistable.DB, d *directory.Directory, h headers.Header) (*Store, error) {
	c, err := format.DecodeCatalog(h.Value)
	if err != nil {
		return nil, newHeaderError(d, h, err)
	}
	if name := c.Schema().Type().Name; name != h.Type {
		return nil, newHeaderError(d, h, fmt.Errorf("it is of the type %s", name))
	}
	typ, err := newRecordType(c)
	if err != nil {
		return nil, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return nil, err
	}
	at := typ.locate(d)
	schema := typ.newSchema(db, at)
	source := erased.Runtime.Open(db, schema, at.args)
	if source.Err != nil {
		return nil, source.Err
	}
	return &Store{persistable.Store[*Record, ID](erased.NewStore[ID](source, schema)), typ, schema, at.args, prefix}, nil
}

// newHeaderError is the error of a header that cannot be read.
func newHeaderError(d *directory.Directory, h headers.Header, err error) error {
	prefix, _ := d.Prefix() // it has one: the header was read with it
	e := &persistable.RecordError{Type: h.Type, Key: append(prefix, headers.Key(h.Type)...), Reason: "the header cannot be read", Err: err, Remedy: format.RemedyCorrupt}
	var fault *format.Error
	if errors.As(err, &fault) {
		e.Reason, e.Remedy, e.Err = fault.Reason, fault.Remedy, fault.Err
	}
	return e
}
