// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
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
	leader  *seat
	leads   atomic.Bool
}

// workerIDs is the key under which workers lease their worker ids; no user's key
// begins like this. Its layout only sets the number of worker ids.
var workerIDs = snowflake.Key{Name: "__workers", Layout: snowflake.Layout{SkipSize: 1, TSSize: 41, WorkerIDSize: 10, SeqSize: 12, BaseTS: 1_704_067_200_000}}

// New returns a controller over an initialised store. Also call
// [Controller.Run]. The error is that of [Options.Validate].
func New(s store.Store, o Options) (*Controller, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Controller{store: s, options: o, view: newView(), leader: newSeat(s, o.Lease)}
	var err error
	c.leaser, err = snowflake.New(s, snowflake.Options{Duration: o.Lease, Hold: 2 * o.Lease, Skew: min(o.Lease, time.Hour).Truncate(time.Millisecond), Now: o.Now, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Register leases a worker id to a worker. An instance that registers again gets
// another one. Errors: what [Registration.Validate] finds, [*snowflake.ExhaustedError],
// [lease.ErrQuarantine], and those of the store.
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

// recordPrefix begins the keys of workers' documents; the instance follows.
const recordPrefix = "worker."

// forgetAfter is how long the store keeps the document of a worker that is gone if
// no controller removes it. Clocks may differ by as much.
const forgetAfter = 24 * time.Hour

// conflicts bounds the attempts to change a document that others change as well.
const conflicts = 20

// saveWorker stores a worker's request in its document, unless that has a later one.
func (c *Controller) saveWorker(ctx context.Context, g snowflake.Grant, r Registration) error {
	w := Worker{WorkerID: g.WorkerID, Registration: r, Heartbeat: c.options.Now().UTC()}
	for n := range conflicts {
		doc, old, err := c.loadWorker(ctx, r.Instance)
		if err != nil || doc.Version != 0 && old.Sequence > r.Sequence {
			return err
		}
		if doc.Value, err = json.Marshal(w); err != nil {
			return err
		}
		doc.Expires = c.options.Now().Add(c.options.Lease + forgetAfter)
		_, err = c.store.Put(ctx, store.Workers, doc)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := sleep.For(ctx, rand.N(time.Millisecond<<min(n, 5))); err != nil {
			return err
		}
	}
	return fmt.Errorf("controller: worker %q: %w", r.Instance, store.ErrConflict)
}

// loadWorker returns the document of an instance, with version 0 if there is none.
func (c *Controller) loadWorker(ctx context.Context, instance string) (doc store.Document, w Worker, err error) {
	doc, err = c.store.Get(ctx, store.Workers, recordPrefix+instance)
	if errors.Is(err, store.ErrNotFound) {
		return store.Document{Key: recordPrefix + instance}, w, nil
	}
	if err == nil {
		w, err = decodeRecord(doc)
	}
	return doc, w, err
}

// removeWorker removes the document of an instance, if it has the worker id.
func (c *Controller) removeWorker(ctx context.Context, instance string, workerID int64) error {
	for range conflicts {
		doc, w, err := c.loadWorker(ctx, instance)
		if err != nil || doc.Version == 0 || w.WorkerID != workerID {
			return err
		}
		if err := c.store.Delete(ctx, store.Workers, doc.Key, doc.Version); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("controller: worker %q: %w", instance, store.ErrConflict)
}

func decodeRecord(doc store.Document) (w Worker, err error) {
	if err := json.Unmarshal(doc.Value, &w); err != nil || recordPrefix+w.Instance != doc.Key {
		return w, &store.CorruptError{Where: fmt.Sprintf("%s %q", store.Workers, doc.Key), Reason: "it is not what a controller wrote", Err: err}
	}
	return w, nil
}

// The defaults of [Options].
const (
	DefaultHeartbeat = 10 * time.Second
	DefaultTimeout   = 10 * time.Second
)

// Options configure a [Controller]. All controllers of a store use the same
// Heartbeat and Lease.
type Options struct {
	// Authorize refuses a request if its token permits nothing here: with an
	// [*api.Error], or another error, which is answered as 2001. It must be set.
	Authorize func(*http.Request) error
	// AuthorizeBalance does the same for GET /v1/controller/balance, which clients send;
	// nil means Authorize.
	AuthorizeBalance func(*http.Request) error

	// Heartbeat is the time between heartbeats of a worker, from 100 ms to an hour; 0 means 10 s.
	Heartbeat time.Duration
	// Lease is how long a worker lives without a heartbeat, from 1 s to 12 hours and at
	// least two heartbeats; 0 means three heartbeats.
	Lease time.Duration
	// Timeout bounds a request; 0 means 10 s.
	Timeout time.Duration

	// Now is the clock of heartbeats and worker ids; nil means [time.Now].
	Now    func() time.Time
	Logger *slog.Logger // nil means [slog.Default]
}

func (o Options) withDefaults() Options {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Lease == 0 {
		o.Lease = max(3*o.Heartbeat, time.Second)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.AuthorizeBalance == nil {
		o.AuthorizeBalance = o.Authorize
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Authorize == nil {
		faults = append(faults, errors.New("controller: Authorize is missing"))
	}
	if o.Heartbeat < 100*time.Millisecond || o.Heartbeat > time.Hour {
		faults = append(faults, fmt.Errorf("controller: Heartbeat is %v; it must be from 100ms to 1h", o.Heartbeat))
	}
	if o.Lease < max(time.Second, 2*o.Heartbeat) || o.Lease > 12*time.Hour || o.Lease%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("controller: Lease is %v; it must be from 1s and two heartbeats, %v, to 12h in whole milliseconds", o.Lease, max(time.Second, 2*o.Heartbeat)))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("controller: Timeout is %v; it must not be negative", o.Timeout))
	}
	return errors.Join(faults...)
}
