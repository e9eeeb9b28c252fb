// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/lease"
)

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
