// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// openSource returns the source of the schema's records for the directory
// arguments, one per {Field}. A wrong argument (empty, too long, not UTF-8) is
// reported by every operation, as a *[DirectoryError].
func openSource(db *DB, schema *erased.Schema, args []string) erased.Source {
	_, err := schema.Parsed()
	if err == nil && !db.isOpen() {
		err = fmt.Errorf("persistable: %s: %w", schema.Type, errNoDB)
	}
	if err != nil {
		return erased.Source{Err: err}
	}
	p, err := placeOf(db, schema, args)
	if err != nil {
		return erased.Source{Err: err}
	}
	e := erased.Source{Place: p}
	setDB(&e, p.db.With(db.settings))
	return e
}

// placeOf returns the place of the schema's records for the directory arguments.
func placeOf(db *DB, schema *erased.Schema, args []string) (*place, error) {
	if schema.Dynamic != nil { // the schema is of one store: no other one finds its place by it
		return newPlace(db.root, &record{Schema: schema}, args)
	}
	key := placeKey{schema, joinArgs(args)}
	if known := db.places.get(key); known != nil {
		return known, nil
	}
	p, err := newPlace(db.root, &record{Schema: schema}, args)
	if err != nil {
		return nil, err
	}
	return db.places.put(key, p), nil
}

// setDB has the source's own transactions run in db.
func setDB(e *erased.Source, db *DB) {
	if db != e.Place.(*place).db {
		e.DB = db
	}
}

// setOptions gives the source's own transactions options.
func setOptions(e *erased.Source, o kv.TransactionOptions) {
	s := newSource(e)
	if e.Err = s.checkUsable(); e.Err == nil {
		setDB(e, s.db.With(o))
	}
}

// bind binds a source to a transaction.
func bind(e *erased.Source, tx Tx) {
	if tx.options != nil {
		setOptions(e, *tx.options)
		return
	}
	s := newSource(e)
	e.Tx = tx.t
	e.Err = s.checkUsable()
	switch {
	case e.Err != nil:
	case tx.t == nil:
		e.Err = fmt.Errorf("persistable: %s: the zero Tx is not a transaction: use the one that Transact gives, or that of DB.In", s.record.Type)
	case tx.t.db.root != s.db.root:
		e.Err = fmt.Errorf("persistable: %s: the store and the transaction belong to different databases", s.record.Type)
	}
}
