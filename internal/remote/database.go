// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"net/rpc"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Database is a database that another process serves. It is safe for concurrent use.
type Database struct {
	client *rpc.Client
	begun  atomic.Uint64
	closed atomic.Bool
}

var _ kv.Database = (*Database)(nil)

// Dial connects to the address of a process that serves a database.
func Dial(address string) (*Database, error) {
	client, err := rpc.Dial("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return &Database{client: client}, nil
}

// Begin implements [kv.Database].
func (d *Database) Begin() (kv.Transaction, error) {
	tx, err := d.beginTx()
	if err != nil {
		return nil, err
	}
	return tx, nil
}

func (d *Database) beginTx() (*remoteTx, error) {
	if d.closed.Load() {
		return nil, kv.ErrClosed
	}
	t := &remoteTx{client: d.client, id: d.begun.Add(1)}
	t.view = view{tx: t}
	return t, nil
}

// Transact implements [kv.Transactor].
func (d *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.beginTx()
	if err != nil {
		return err
	}
	defer tx.markFinished()
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d *Database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.beginTx()
	if err != nil {
		return err
	}
	defer tx.markFinished()
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// Close implements [kv.Database]: it closes the connection. The served database stays open.
func (d *Database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.client.Close()
}
