// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/lease"
)

// ErrUnknownWorker says that no lease of the worker is in force. The worker must
// register again.
var ErrUnknownWorker = errors.New("controller: the worker is not registered, or its lease has ended")

// Controller registers workers. It is safe for concurrent use, and any number of
// them may share a store.
type Controller struct {
	store   store.Store
	options Options
	leaser  *snowflake.Leaser
	view    *view
	leader  campaign
	leads   atomic.Bool
}

// workerIDs is the key under which workers lease their worker ids; no user's key
// begins like this. Its layout only sets the number of worker ids.
var workerIDs = snowflake.Key{Name: "__workers", Layout: snowflake.Layout{SkipSize: 1, TSSize: 41, WorkerIDSize: 10, SeqSize: 12, BaseTS: 1_704_067_200_000}}

// New returns a controller over a store whose Init was called. Also call
// [Controller.Run]. The error is that of [Options.Validate].
func New(s store.Store, o Options) (*Controller, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Controller{store: s, options: o, view: newView()}
	var err error
	c.leaser, err = snowflake.New(s, snowflake.Options{Duration: o.Lease, Hold: 2 * o.Lease, Skew: min(o.Lease, time.Hour).Truncate(time.Millisecond), Now: o.Now, Logger: o.Logger})
	if err == nil {
		c.leader, err = newCampaign(s, o)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Register leases a worker id to a worker. An instance that registers again gets
// another one. Errors: what [Registration.Validate] finds, [*snowflake.ExhaustedError],
// [*lease.QuarantineError], and those of the store.
func (c *Controller) Register(ctx context.Context, r Registration) (Assignment, error) {
	if err := r.Validate(); err != nil {
		return Assignment{}, invalid(err)
	}
	g, err := c.leaser.Lease(ctx, workerIDs, snowflake.Client{Renews: true, Address: r.Address})
	if err != nil {
		return Assignment{}, fmt.Errorf("controller: register %q: %w", r.Instance, err)
	}
	if err := c.saveWorker(ctx, g, r); err != nil {
		return Assignment{}, fmt.Errorf("controller: register %q: %w", r.Instance, err)
	}
	c.options.Logger.Info("controller: a worker registered", "worker_id", g.WorkerID, "instance", r.Instance, "address", r.Address, "version", r.Version)
	return c.newAssignment(ctx, g)
}

// Heartbeat renews the lease of a worker, and notes its load. Errors:
// [ErrUnknownWorker], after which the worker registers again, what
// [Registration.Validate] finds, [snowflake.ErrLeaseKey], and those of the store.
func (c *Controller) Heartbeat(ctx context.Context, h Heartbeat) (Assignment, error) {
	if err := h.Validate(); err != nil {
		return Assignment{}, invalid(err)
	}
	g, err := c.leaser.Renew(ctx, workerIDs, h.LeaseKey)
	if errors.Is(err, lease.ErrNotFound) || errors.Is(err, lease.ErrNotRenewable) {
		return Assignment{}, fmt.Errorf("%w: instance %q", ErrUnknownWorker, h.Instance)
	}
	if err == nil {
		err = c.saveWorker(ctx, g, h.Registration)
	}
	if err != nil {
		return Assignment{}, fmt.Errorf("controller: heartbeat of %q: %w", h.Instance, err)
	}
	return c.newAssignment(ctx, g)
}

func (c *Controller) newAssignment(ctx context.Context, g snowflake.Grant) (Assignment, error) {
	revision, err := c.store.Revision(ctx)
	return Assignment{
		WorkerID: g.WorkerID, LeaseKey: g.LeaseKey, LeaseDuration: g.Duration.Seconds(),
		HeartbeatInterval: c.options.Heartbeat.Seconds(), Revision: revision,
	}, err
}

// Leave ends the lease of a worker at once. It returns nil if the lease has ended already.
func (c *Controller) Leave(ctx context.Context, l Leave) error {
	if !validInstance(l.Instance) {
		return invalid(errors.New("instance: it must have 1 to 64 letters, digits, '.', '_' or '-'"))
	}
	workerID, err := snowflake.WorkerIDOf(l.LeaseKey)
	if err == nil {
		err = c.leaser.Release(ctx, workerIDs, l.LeaseKey)
	}
	if err == nil {
		err = c.removeWorker(ctx, l.Instance, workerID)
	}
	if err != nil {
		return fmt.Errorf("controller: leave of %q: %w", l.Instance, err)
	}
	return nil
}

// Workers lists the workers that live.
func (c *Controller) Workers(ctx context.Context) (Workers, error) {
	live, err := c.liveWorkers(ctx)
	if err != nil {
		return Workers{}, fmt.Errorf("controller: list: %w", err)
	}
	revision, err := c.store.Revision(ctx)
	return Workers{Items: live, Revision: revision, Leader: c.leads.Load()}, err
}

// Balance returns the addresses of workers that are ready. A worker with the average
// number of requests has half the weight of one without any: so all workers get about
// the same number of requests, and none gets those of all clients at once.
func (c *Controller) Balance(ctx context.Context) (Balance, error) {
	live, err := c.liveWorkers(ctx)
	if err != nil {
		return Balance{}, fmt.Errorf("controller: balance: %w", err)
	}
	b := Balance{Targets: []Target{}, TTL: c.options.Heartbeat.Seconds()}
	var ready []Worker
	total := 0.0
	for _, w := range live {
		if w.Ready {
			ready, total = append(ready, w), total+w.RequestsPerSecond
		}
	}
	for _, w := range ready {
		mean := max(total/float64(len(ready)), 1)
		b.Targets = append(b.Targets, Target{Address: w.Address, Weight: max(1, int(math.Round(100/(1+w.RequestsPerSecond/mean))))})
	}
	return b, nil
}

// Run removes workers that are gone while this controller leads. It returns the
// cause of ctx when that ends.
func (c *Controller) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { c.callEveryHeartbeat(ctx, c.observeWorkers) }) // so that it has seen the workers before it leads
	for {
		err := c.leader.run(ctx, c.runLeader)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.options.Logger.Warn("controller: campaigning goes on", "error", err)
		if err := sleep.For(ctx, c.options.Heartbeat); err != nil {
			return err
		}
	}
}

// observeWorkers observes the documents of the workers.
func (c *Controller) observeWorkers(ctx context.Context) error {
	_, err := c.liveWorkers(ctx)
	return err
}

// runLeader is the work of the leader.
func (c *Controller) runLeader(ctx context.Context) error {
	c.leads.Store(true)
	defer c.leads.Store(false)
	c.options.Logger.Info("controller: this controller leads")
	c.callEveryHeartbeat(ctx, c.removeDead)
	return context.Cause(ctx)
}

// callEveryHeartbeat calls fn once in a heartbeat until ctx ends.
func (c *Controller) callEveryHeartbeat(ctx context.Context, fn func(context.Context) error) {
	for {
		call, cancel := context.WithTimeout(ctx, c.options.Timeout)
		err := fn(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.options.Logger.Warn("controller: the store cannot be asked", slog.Any("error", err))
		}
		if sleep.For(ctx, c.options.Heartbeat) != nil {
			return
		}
	}
}

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// invalidError marks a fault of a request.
type invalidError struct{ error }

func invalid(err error) error { return invalidError{err} }

// Unwrap returns the faults.
func (e invalidError) Unwrap() error { return e.error }
