// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// AtTime returns store with another clock.
func AtTime(store lease.Store, now func() time.Time) lease.Store {
	return wrapped{store, func(tx lease.Tx) lease.Tx { return clocked{tx, now()} }}
}

// Counting returns store with its reads counted: a call of Get or Scan is one.
func Counting(store lease.Store, reads *atomic.Int64) lease.Store {
	return wrapped{store, func(tx lease.Tx) lease.Tx { return counted{tx, reads} }}
}

// wrapped is a store with other transactions.
type wrapped struct {
	lease.Store
	wrap func(lease.Tx) lease.Tx
}

func (w wrapped) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return w.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(w.wrap(tx)) })
}

// incarnation is that of the transaction below a wrapper.
func incarnation(tx lease.Tx) string {
	if life, ok := tx.(lease.Incarnate); ok {
		return life.Incarnation()
	}
	return ""
}

type clocked struct {
	lease.Tx
	now time.Time
}

func (c clocked) Now() time.Time      { return c.now }
func (c clocked) Incarnation() string { return incarnation(c.Tx) }

type counted struct {
	lease.Tx
	reads *atomic.Int64
}

func (c counted) Incarnation() string { return incarnation(c.Tx) }

func (c counted) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	c.reads.Add(1)
	return c.Tx.Get(ctx, keys...)
}

func (c counted) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	c.reads.Add(1)
	return c.Tx.Scan(ctx, begin, end, limit)
}
