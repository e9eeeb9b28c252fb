// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// leave ends the incarnation: in good order if it was stopped, and by losing all if
// others may take it for dead.
func (p *incarnation) leave(cause error, me *membership.Member) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if errors.Is(cause, errStopped) && me.Context().Err() == nil {
		_ = me.Drain(ctx)
		if err := p.driver.Stop(ctx); err != nil && me.Context().Err() == nil && p.node.gate.is(open) {
			p.node.cluster.faultf("%v: %v", p.owner, err)
		}
	}
	p.driver.LoseAll()
	short, cancelShort := context.WithTimeout(ctx, time.Second)
	defer cancelShort()
	_ = p.driver.Stop(short)
	_ = me.Leave(short)
}

// incarnation is one run of a node.
type incarnation struct {
	node   *node
	owner  placement.Owner
	store  *kvstore.Store
	driver *driver.Driver

	mu     sync.Mutex
	actors map[placement.Key]*account
}

func newIncarnation(n *node, members *membership.Registry, me *membership.Member) (*incarnation, error) {
	store, err := kvstore.New(n.gate, kvstore.Options{Members: members})
	if err != nil {
		return nil, err
	}
	p := &incarnation{node: n, owner: me.Member().Owner, store: store, actors: map[placement.Key]*account{}}
	coordinator, err := core.NewCoordinator(core.Options{Self: p.owner, Address: n.name, MovesPerTick: 1})
	if err != nil {
		return nil, err
	}
	p.driver, err = driver.New(coordinator, driver.Homes{Lock: store, Storage: store, Executor: p}, driver.Options{IdleAfter: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return p, p.driver.StartMember([]string{"account"})
}

// account is an actor: it keeps its value in memory and writes one more for each call.
type account struct {
	handling chan struct{} // has one element while nothing is handled
	epoch    int64
	value    int64
	unsure   bool // the outcome of the latest effect is unknown
}

// EnsureActivation implements driver.Executor.
func (p *incarnation) EnsureActivation(ctx context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	a := &account{handling: make(chan struct{}, 1), epoch: c.Epoch}
	a.handling <- struct{}{}
	if err := p.update(ctx, c.Key, a, func(found int64) int64 { a.value = found; return found }); err != nil {
		return core.ActivationRecord{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.actors[c.Key]; old == nil || old.epoch < c.Epoch {
		p.actors[c.Key] = a
	}
	return core.ActivationRecord{PID: p.owner.String()}, nil
}

// Deactivate implements driver.Executor. It waits until the present call is over.
func (p *incarnation) Deactivate(ctx context.Context, c core.Deactivate) error {
	p.mu.Lock()
	a := p.actors[c.Key]
	p.mu.Unlock()
	if a == nil || a.epoch != c.Epoch {
		return nil
	}
	select {
	case <-a.handling: // for good: calls that wait give up
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.actors[c.Key] == a {
		delete(p.actors, c.Key)
	}
	return nil
}

// handle handles a call: its effect is one transaction under the fence.
func (p *incarnation) handle(ctx context.Context, key placement.Key, epoch int64) error {
	p.mu.Lock()
	a := p.actors[key]
	p.mu.Unlock()
	if a == nil || a.epoch != epoch {
		return errElsewhere // it has ended since
	}
	select {
	case <-a.handling:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { a.handling <- struct{}{} }()
	c := p.node.cluster
	c.count(&c.tried)
	base := a.value
	err := p.update(ctx, key, a, func(found int64) int64 {
		a.value = found + 1
		return a.value
	})
	if err == nil && !a.unsure && a.value != base+1 {
		c.faultf("%v of %v, epoch %d, had seen %d, and the value was %d", key, p.owner, epoch, base, a.value-1)
	}
	a.unsure = err != nil
	switch {
	case errors.Is(err, placement.ErrActivationLost):
		c.count(&c.fenced)
		p.driver.LoseActivation(key, epoch)
	case err == nil:
		c.count(&c.handled)
		p.driver.Use(key, epoch)
	}
	return err
}

func valueOf(key placement.Key) []byte { return tuple.AppendString([]byte("values"), key.ID) }

// update changes the value of a key under the fence of an actor. The value is stored with the
// epoch, which only grows.
func (p *incarnation) update(ctx context.Context, key placement.Key, a *account, change func(int64) int64) error {
	written, last := int64(-1), int64(0)
	err := p.fenced(key, a.epoch).Transact(ctx, func(tx kv.Transaction) error {
		found, err := readInt(ctx, tx, valueOf(key))
		if err != nil {
			return err
		}
		if last, err = readInt(ctx, tx, append(valueOf(key), "epoch"...)); err != nil {
			return err
		}
		if found != written { // else an attempt was committed, and its acknowledgement lost
			written = change(found)
		}
		tx.Set(valueOf(key), tuple.AppendInt(nil, written))
		tx.Set(append(valueOf(key), "epoch"...), tuple.AppendInt(nil, a.epoch))
		return nil
	})
	if err == nil && last > a.epoch {
		p.node.cluster.faultf("%v has written under epoch %d after one of %d", p.owner, a.epoch, last)
	}
	return err
}

// fenced returns the database under the fence of an epoch.
func (p *incarnation) fenced(key placement.Key, epoch int64) kv.Database {
	if p.node.cluster.unfenced {
		return p.node.gate
	}
	return p.store.Fence(key, p.owner, epoch).Under(p.node.gate)
}
