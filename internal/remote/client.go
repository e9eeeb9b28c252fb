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
	tx, err := d.begin()
	if err != nil {
		return nil, err
	}
	return tx, nil
}

func (d *Database) begin() (*remoteTx, error) {
	if d.closed.Load() {
		return nil, kv.ErrClosed
	}
	t := &remoteTx{client: d.client, id: d.begun.Add(1)}
	t.view = view{tx: t}
	return t, nil
}

// Transact implements [kv.Transactor].
func (d *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.begin()
	if err != nil {
		return err
	}
	defer tx.finish()
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (d *Database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := d.begin()
	if err != nil {
		return err
	}
	defer tx.finish()
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// Close implements [kv.Database]: it closes the connection. The served database stays open.
func (d *Database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.client.Close()
}

// view reads for a transaction, or its snapshot.
type view struct {
	tx       *remoteTx
	snapshot bool
}

// Get implements [kv.ReadTransaction].
func (v view) Get(key []byte) kv.Future[[]byte] {
	return call(v, Request{Verb: get, Key: key}, value)
}

// GetKey implements [kv.ReadTransaction].
func (v view) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return call(v, Request{Verb: getKey, Selector: sel}, value)
}

// GetRange implements [kv.ReadTransaction].
func (v view) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return call(v, Request{Verb: getRange, Batch: req}, func(r Response) kv.Batch { return r.Batch })
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (v view) GetReadVersion() kv.Future[int64] {
	return call(v, Request{Verb: getReadVersion}, integer)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v view) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	return call(v, Request{Verb: getEstimatedRangeSize, Range: r}, integer)
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v view) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return call(v, Request{Verb: getRangeSplitPoints, Range: r, Integer: chunkSize}, func(r Response) [][]byte { return r.Keys })
}

// Snapshot implements [kv.ReadTransaction].
func (v view) Snapshot() kv.ReadTransaction { return view{v.tx, true} }

// ReadTransact implements [kv.ReadTransactor].
func (v view) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error { return fn(v) }

func value(r Response) []byte {
	if r.Absent {
		return nil
	}
	return append([]byte{}, r.Value...)
}

func integer(r Response) int64 { return r.Integer }

// call sends a call and returns a future of its result.
func call[T any](v view, req Request, result func(Response) T) kv.Future[T] {
	req.Snapshot = v.snapshot
	promise := kv.NewPromise[T]()
	sent := v.tx.send(req)
	go func() {
		resp, err := sent.wait()
		if err != nil {
			var zero T
			promise.Resolve(zero, err)
			return
		}
		promise.Resolve(result(resp), nil)
	}()
	return promise.Future()
}
