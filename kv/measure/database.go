// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// database is a database whose transactions are counted.
type database struct {
	kv.Database
	meter *Meter
}

// Begin implements [kv.Database].
func (d database) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	return d.meter.Transaction(tx), nil
}

// Transact implements [kv.Transactor].
func (d database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}
