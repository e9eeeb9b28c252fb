// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// home is the store's home of locks and entries, as one process reaches it: a
// driver.Lock and a driver.Storage.
type home struct{ process *process }

// doRequest does something in the home, unless the process does not reach it. If the reply is lost
// what was done stays.
func (h home) doRequest(what string, key placement.Key, do func() (any, error)) error {
	w, p := h.process.world, h.process
	if w.fate.refused {
		w.tracef("%v: %s %v → it takes too long", p, what, key)
		return fmt.Errorf("%w: it takes too long", placement.ErrUnavailable)
	}
	if !w.reachesStore(p.machine) {
		w.tracef("%v: %s %v → the store is not reached", p, what, key)
		return fmt.Errorf("%w: it is not reached", placement.ErrUnavailable)
	}
	found, err := do()
	if w.fate.lost {
		w.oracle.counts.LostReplies++
		w.fate.silent = w.fate.dice.chance(0.5)
		w.tracef("%v: %s %v → %v, and the reply is lost", p, what, key, outcome{found, err})
		return fmt.Errorf("%w: the reply is lost", placement.ErrUnavailable)
	}
	w.tracef("%v: %s %v → %v", p, what, key, outcome{found, err})
	return err
}

// TryAcquire implements driver.Lock.
func (h home) TryAcquire(ctx context.Context, c placement.TryAcquire) (lease placement.Lease, err error) {
	w := h.process.world
	err = h.doRequest("TryAcquire", c.Key, func() (any, error) {
		lease, err = w.store.tryAcquire(ctx, c)
		if err != nil {
			return "", err
		}
		w.oracle.checkGrant(c.Key, grant{lease.Epoch, lease.Owner, lease.Request, h.process})
		return fmt.Sprintf("epoch %d for request %d", lease.Epoch, lease.Request), nil
	})
	if err != nil {
		return placement.Lease{}, err
	}
	return lease, nil
}

// Release implements driver.Lock.
func (h home) Release(ctx context.Context, lease placement.Lease) error {
	return h.doRequest("Release", lease.Key, func() (any, error) {
		return fmt.Sprintf("epoch %d", lease.Epoch), h.process.world.store.releaseLease(ctx, lease)
	})
}

// Load implements driver.Storage.
func (h home) Load(ctx context.Context, key placement.Key) (entry *placement.ActivationEntry, err error) {
	err = h.doRequest("Load", key, func() (any, error) {
		entry, err = h.process.world.store.loadEntry(ctx, key)
		if entry == nil {
			return "no entry", err
		}
		return fmt.Sprintf("an entry of %v, epoch %d", entry.Owner, entry.Epoch), err
	})
	if err != nil {
		return nil, err
	}
	return entry, nil
}

// Store implements driver.Storage.
func (h home) Store(ctx context.Context, lease placement.Lease, entry placement.ActivationEntry) error {
	w := h.process.world
	err := h.doRequest("Store", lease.Key, func() (any, error) {
		return fmt.Sprintf("epoch %d", entry.Epoch), w.store.storeEntry(ctx, lease, entry)
	})
	if w.mutation == HideStoreFailures {
		return nil
	}
	return err
}

// Remove implements driver.Storage.
func (h home) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return h.doRequest("Remove", key, func() (any, error) {
		return fmt.Sprintf("epoch %d", epoch), h.process.world.store.removeEntry(ctx, key, owner, epoch)
	})
}
