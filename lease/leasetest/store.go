// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// AtTime returns store with another clock.
func AtTime(store lease.Store, now func() time.Time) lease.Store {
	return wrapperStore{store, func(tx lease.Tx) lease.Tx { return clockTx{tx, now()} }}
}

// CountReads returns store, which adds its reads to a counter: a call of Get or Scan is one.
func CountReads(store lease.Store, reads *atomic.Int64) lease.Store {
	return wrapperStore{store, func(tx lease.Tx) lease.Tx { return countingTx{tx, reads} }}
}

// wrapperStore is a store with other transactions.
type wrapperStore struct {
	lease.Store
	wrap func(lease.Tx) lease.Tx
}

func (w wrapperStore) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return w.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(w.wrap(tx)) })
}

// Services implements [lease.Enumerator], if the store below does.
func (w wrapperStore) Services(ctx context.Context, after string, limit int) ([]string, error) {
	if store, ok := w.Store.(lease.Enumerator); ok {
		return store.Services(ctx, after, limit)
	}
	return nil, errors.ErrUnsupported
}

// incarnation is that of the transaction below a wrapper.
func incarnation(tx lease.Tx) string {
	if life, ok := tx.(lease.IncarnationTx); ok {
		return life.Incarnation()
	}
	return ""
}

type clockTx struct {
	lease.Tx
	now time.Time
}

func (c clockTx) Now() time.Time      { return c.now }
func (c clockTx) Incarnation() string { return incarnation(c.Tx) }

type countingTx struct {
	lease.Tx
	reads *atomic.Int64
}

func (c countingTx) Incarnation() string { return incarnation(c.Tx) }

func (c countingTx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	c.reads.Add(1)
	return c.Tx.Get(ctx, keys...)
}

func (c countingTx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	c.reads.Add(1)
	return c.Tx.Scan(ctx, begin, end, limit)
}
