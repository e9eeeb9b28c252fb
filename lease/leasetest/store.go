// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
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

// Hostile returns store with everything that its contract permits: scans return
// now and then what they returned before, and functions run again without the
// store having changed, or after it has. What happens follows from the seed, for
// calls one after the other.
func Hostile(store lease.Store, seed uint64) lease.Store {
	return &hostile{Store: store, random: rand.New(rand.NewPCG(seed, 0)), scans: map[string][]lease.Pair{}}
}

type hostile struct {
	lease.Store
	mu     sync.Mutex
	random *rand.Rand
	scans  map[string][]lease.Pair // by service and bounds: what the last one returned
}

// chance is true once in n times.
func (h *hostile) chance(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(n) == 0
}

var errAbandoned = errors.New("leasetest: the transaction is abandoned")

func (h *hostile) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	run := func(tx lease.Tx) error { return fn(hostileTx{tx, h, service}) }
	if h.chance(4) {
		err := h.Store.Update(ctx, service, func(tx lease.Tx) error { return errors.Join(errAbandoned, run(tx)) })
		if !errors.Is(err, errAbandoned) {
			return err
		}
	}
	if h.chance(8) { // the reply is lost
		if err := h.Store.Update(ctx, service, run); err != nil {
			return err
		}
	}
	return h.Store.Update(ctx, service, run)
}

type hostileTx struct {
	lease.Tx
	*hostile
	service string
}

func (t hostileTx) Incarnation() string { return incarnation(t.Tx) }

func (t hostileTx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	outdated := t.chance(4)
	pairs, err := t.Tx.Scan(ctx, begin, end, limit)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := t.service + string(begin[:min(2, len(begin))])
	if old, known := t.scans[key]; known && outdated {
		pairs = slices.DeleteFunc(slices.Clone(old), func(p lease.Pair) bool {
			return bytes.Compare(p.Key, begin) < 0 || bytes.Compare(p.Key, end) >= 0
		})
		return pairs[:min(limit, len(pairs))], nil
	}
	t.scans[key] = pairs
	return pairs, nil
}

// wrapped is a store with other transactions.
type wrapped struct {
	lease.Store
	wrap func(lease.Tx) lease.Tx
}

func (w wrapped) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return w.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(w.wrap(tx)) })
}

// Services implements [lease.Enumerator], if the store below does.
func (w wrapped) Services(ctx context.Context, after string, limit int) ([]string, error) {
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
