// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// batchSize is the number of rows that one transaction stores. It is far below
// what a transaction may write (10 MB) and take (5 s).
const batchSize = 50

// loader brings the rows of a data set into the database, each once. It may be
// killed at any moment and started again, and several may run at once:
//
//   - A batch of rows is one transaction, so it is stored as a whole or not at
//     all.
//   - Before it stores a batch, the loader looks up which records exist already,
//     by their numbers, with one query of the unique index.
//   - If another loader stores one of them in between, the unique index refuses
//     the transaction, and the batch is looked up again.
type loader struct {
	db   *persistable.DB
	data *dataset
	show progress

	artists, albums, tracks, employees, customers ids
}

// ids tells the IDs of the records of one kind by the numbers of the data set.
type ids map[int64]idgen.ID

// of returns the ID of the record with a number.
func (m ids) of(kind string, number int64) (idgen.ID, error) {
	id, ok := m[number]
	if !ok {
		return 0, fmt.Errorf("the data set has no %s %d", kind, number)
	}
	return id, nil
}

// row is a row of the data set.
type row interface{ number() int64 }

// save stores a record, and what belongs to it, in a transaction.
type save func(ctx context.Context, tx persistable.Tx) error

// table says how rows of one kind become records of one store.
type table[Row row] struct {
	rows []Row // in the order of their numbers
	// find returns the records with numbers from first to last.
	find func(ctx context.Context, first, last int64) (ids, error)
	// make makes the record of a row. Its ID is set before the transaction
	// that stores it, because a transaction may run more than once.
	make func(r Row) (idgen.ID, save, error)
	// known gets the IDs of all records.
	known ids
}

// load stores the rows that are not there yet and returns their number.
func load[Row row](ctx context.Context, l *loader, t table[Row], step func(rows, stored int)) (stored int, err error) {
	for batch := range slices.Chunk(t.rows, batchSize) {
		if err := ctx.Err(); err != nil {
			return stored, err
		}
		n, err := loadBatch(ctx, l, t, batch)
		if err != nil {
			return stored, err
		}
		stored += n
		step(len(batch), n)
	}
	return stored, nil
}

// loadBatch stores a batch in one transaction. It tries again as long as another
// loader stores records of the batch at the same time.
func loadBatch[Row row](ctx context.Context, l *loader, t table[Row], batch []Row) (int, error) {
	for seen := -1; ; {
		there, err := t.find(ctx, batch[0].number(), batch[len(batch)-1].number())
		if err != nil {
			return 0, err
		}
		saves, err := makeMissing(t, batch, there)
		if err != nil || len(saves) == 0 {
			return 0, err
		}
		err = l.db.Transact(ctx, func(tx persistable.Tx) error {
			for _, save := range saves {
				if err := save(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
		var taken *persistable.UniqueError
		if !errors.As(err, &taken) || len(there) == seen {
			return len(saves), err
		}
		seen = len(there)
	}
}

// makeMissing makes the records of the rows that are not there, and notes the
// IDs of all.
func makeMissing[Row row](t table[Row], batch []Row, there ids) ([]save, error) {
	var saves []save
	for _, r := range batch {
		id, found := there[r.number()]
		if !found {
			made, save, err := t.make(r)
			if err != nil {
				return nil, err
			}
			id, saves = made, append(saves, save)
		}
		t.known[r.number()] = id
	}
	return saves, nil
}

// finder returns a table's find for a store that orders its records by number.
func finder[T any](byNumber *persistable.RangeQuery[T, int64], key func(T) (int64, idgen.ID)) func(context.Context, int64, int64) (ids, error) {
	return func(ctx context.Context, first, last int64) (ids, error) {
		found := ids{}
		for v, err := range byNumber.From(first).To(last).All(ctx) {
			if err != nil {
				return nil, err
			}
			number, id := key(v)
			found[number] = id
		}
		return found, nil
	}
}
