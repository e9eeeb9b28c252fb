// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Database is a database that another process serves. It is safe for concurrent use.
type Database struct {
	dial  func() (io.ReadWriteCloser, error)
	about string // the other process, in errors
	begun atomic.Uint64

	mu     sync.Mutex
	engine string // that the other process has told
	conn   *connection
	closed bool
}

var _ kv.Database = (*Database)(nil)

// Dial connects to the address of a process that serves a database.
func Dial(address string) (*Database, error) {
	return open("the process at "+address, func() (io.ReadWriteCloser, error) { return net.Dial("tcp", address) })
}

// open returns a database with a connection. Transactions that begin after it is lost make another one.
func open(about string, dial func() (io.ReadWriteCloser, error)) (*Database, error) {
	d := &Database{dial: dial, about: about}
	_, err := d.connect()
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return d, nil
}

// connect returns a connection that is not known to be lost.
func (d *Database) connect() (*connection, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, kv.ErrClosed
	}
	if d.conn != nil && d.conn.lost() == nil {
		return d.conn, nil
	}
	conn, err := d.dial()
	if err != nil {
		return nil, err
	}
	d.conn = newConnection(conn, d.about)
	return d.conn, nil
}

// Engine returns what the other process has told of its engine: [Embedded], or something else.
func (d *Database) Engine() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.engine
}

// Begin implements [kv.Database].
func (d *Database) Begin() (kv.Transaction, error) {
	conn, err := d.connect()
	if err != nil {
		return nil, err
	}
	t := &remoteTx{conn: conn, numbers: &d.begun, id: d.begun.Add(1)}
	t.view = view{tx: t}
	return t, nil
}

// Transact implements [kv.Transactor].
func (d *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d *Database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// Close implements [kv.Database]: it closes the connection. The served database stays open.
func (d *Database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.conn != nil {
		d.conn.end(kv.ErrClosed)
	}
	return nil
}
