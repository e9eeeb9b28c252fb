// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// Driver executes what a [core.Coordinator] decides. All methods are safe for
// concurrent use; homes, executors and handlers of events may call them.
type Driver struct {
	homes    Homes
	options  Options
	commands pool
	events   feed[placement.Event]
	cached   feed[core.CacheEvent]
	silent   bool // no handler of events is set

	mu      sync.Mutex // guards the fields below
	core    *core.Coordinator
	waiters map[placement.RequestID]*list.List // of *waiter
	newer   topologyQueue
	changed chan struct{} // closed and replaced when another topology comes into force
	idle    chan struct{} // closed once the coordinator holds nothing; nil: Stop does not wait
}

// New returns a driver of the coordinator, which only the driver may use from then on. The
// error has all faults of the arguments.
func New(c *core.Coordinator, h Homes, o Options) (*Driver, error) {
	faults := []error{o.Validate()}
	if c == nil {
		faults = append(faults, errors.New("driver: there is no coordinator"))
	}
	if h != (Homes{}) {
		faults = append(faults, h.validate())
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	d := &Driver{homes: h, options: o.withDefaults(), core: c, waiters: map[placement.RequestID]*list.List{}, changed: make(chan struct{})}
	d.commands.driver = d
	d.silent = o.Events == nil && o.CacheEvents == nil
	d.events = feed[placement.Event]{handle: o.Events, limit: d.options.EventBuffer, log: d.options.Logger}
	d.cached = feed[core.CacheEvent]{handle: o.CacheEvents, limit: d.options.EventBuffer, log: d.options.Logger}
	return d, nil
}

// StartMember makes this process a member that activates the kinds, once a
// topology lists it.
func (d *Driver) StartMember(kinds []string) error {
	if err := d.homes.validate(); err != nil {
		return fmt.Errorf("driver: a member needs homes: %w", err)
	}
	d.commands.spreadClaims(d.options.ClaimSpread)
	return d.callCore(func(now time.Time) (core.Outcome, error) { return d.core.StartMember(kinds, now) })
}

// StartClient makes this process a client: it finds out where keys are, and
// activates none.
func (d *Driver) StartClient() error {
	return d.callCore(d.core.StartClient)
}

// LoseAll says that this member is dead to others. Every activation ends with
// placement.CauseLost, nothing is removed, and resolves fail with placement.ErrDead from now on.
// [Driver.Stop] waits for the ends.
func (d *Driver) LoseAll() { d.notifyCore(d.core.LoseAll) }

// OnMemberLeft says that a member has left the topology in force, ahead of the next one.
func (d *Driver) OnMemberLeft(o placement.Owner) {
	d.notifyCore(func(now time.Time) core.Outcome { return d.core.OnMemberLeft(o, now) })
}

// Use says that an activation is used. Callers call it at the beginning and at the end of a call.
func (d *Driver) Use(key placement.Key, epoch int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.core.Use(key, epoch, d.options.Now())
}

// Passivate begins to end the activation of a key if it has the epoch: because the activation
// asked for it, or has ended by itself. The executor may refuse, as for idle activations.
func (d *Driver) Passivate(key placement.Key, epoch int64) {
	d.notifyCore(func(now time.Time) core.Outcome { return d.core.Passivate(key, epoch, now) })
}

// LoseActivation says that another owner may have the key: a fence has refused
// the epoch.
func (d *Driver) LoseActivation(key placement.Key, epoch int64) {
	d.notifyCore(func(now time.Time) core.Outcome { return d.core.LoseActivation(key, epoch, now) })
}

// Learn says where a key is active, according to another member. A newer epoch replaces
// an older one, never the reverse.
func (d *Driver) Learn(key placement.Key, h placement.Holder) {
	d.notifyCore(func(now time.Time) core.Outcome { return d.core.Learn(key, h, now) })
}

// Forget says that a key is not active at a holder: that of a resolution to which a call was
// sent, and refused. If the holder is this member, another member has sent a call here for a
// key that resolves elsewhere; what a home still has under that epoch is given back.
func (d *Driver) Forget(key placement.Key, h placement.Holder) {
	d.notifyCore(func(now time.Time) core.Outcome { return d.core.Forget(key, h, now) })
}

// Snapshot returns the state of the coordinator. It copies what is active: with a
// million activations it takes a part of a second, in which resolves wait.
func (d *Driver) Snapshot() placement.Snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.Snapshot()
}

// State returns the state of the coordinator.
func (d *Driver) State() placement.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.State()
}

// Explain tells why a key is where it is.
func (d *Driver) Explain(key placement.Key) placement.Explanation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.core.Explain(key, d.options.Now())
}

// Tick does the coordinator's periodic work: it answers resolves that have waited for too
// long, repeats failed steps, moves keys, and ends activations that were idle for
// Options.IdleAfter. [Driver.Run] calls it.
func (d *Driver) Tick(now time.Time) { d.applyEffects(d.tickCore(now)) }

func (d *Driver) tickCore(now time.Time) effects {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.takeOutcome(d.core.Tick(now))
	if d.options.IdleAfter > 0 {
		e = e.mergedWith(d.takeOutcome(d.core.PassivateIdle(now, d.options.IdleAfter)))
	}
	return e
}

// Stop makes the driver refuse resolves, answers those that wait with
// placement.ErrStopped, and hands everything back: activations end, their entries are
// removed, leases are released. It returns once that is done, or with a
// *[StopError] when ctx ends; if ctx has ended before, it begins and does not
// wait. Calling it again waits again. Steps that fail because a home cannot be reached are
// repeated, at once and then after pauses of one to four seconds, for as long as Stop or Run
// runs.
//
// When it has returned nil, no goroutine of the driver runs any more except for
// commands that do not return, and the handlers of events: see [Driver.Flush].
func (d *Driver) Stop(ctx context.Context) error {
	err := d.callCore(d.core.Stop)
	d.dropTopologies()
	if err != nil && !errors.Is(err, placement.ErrStopped) { // it was stopped before
		return err
	}
	done := d.watchHandback()
	if d.options.Runner != nil {
		return d.checkLeft(ctx, done)
	}
	ticks := time.NewTicker(d.options.Tick)
	defer ticks.Stop()
	for ctx.Err() == nil {
		select {
		case <-done:
			return nil
		case <-ticks.C:
			d.Tick(d.options.Now())
		case <-ctx.Done():
		}
	}
	return d.checkLeft(ctx, done)
}

// watchHandback returns a channel that is closed once the coordinator holds nothing.
func (d *Driver) watchHandback() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	done := d.idle
	d.signalIdle()
	return done
}

// signalIdle wakes Stop when the coordinator holds nothing. The caller holds d.mu.
func (d *Driver) signalIdle() {
	if d.idle != nil && d.core.Held() == 0 {
		close(d.idle)
		d.idle = nil
	}
}

// checkLeft returns a *StopError unless everything was handed back.
func (d *Driver) checkLeft(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	s := d.Snapshot()
	err := &StopError{Held: s.Held, Requests: s.Requests[:min(len(s.Requests), 100)], Err: context.Cause(ctx)}
	if err.Err == nil {
		err.Err = errors.New("the runner has commands that are not finished")
	}
	return err
}

// Run calls [Driver.Tick] every Options.Tick until ctx ends, and returns
// the cause of ctx's end. A driver needs it for time-outs, passivation and moves.
func (d *Driver) Run(ctx context.Context) error {
	ticks := time.NewTicker(d.options.Tick)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			d.Tick(d.options.Now())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// topologyQueue holds back topologies for a while after one has come into force, so that
// a storm of changes becomes one change.
type topologyQueue struct {
	timer    *time.Timer         // runs for a while after a topology has come into force; nil: not running
	topology *placement.Topology // that waits for the timer; nil: none
}

// UpdateTopology sets the live members. The first topology after a quiet time comes into
// force at once. Those within Options.Coalesce after it wait; then the newest of them comes
// into force. There is an error for a topology with faults, and for one
// that comes into force at once and is older than the one in force. It is not an error if a
// waiting topology is replaced by a newer one.
func (d *Driver) UpdateTopology(t placement.Topology) error {
	if t.Validate() == nil && d.postponeTopology(t) {
		return nil
	}
	return d.enforceTopology(t)
}

// postponeTopology queues the topology if another one has just come into force.
func (d *Driver) postponeTopology(t placement.Topology) bool {
	if d.options.Runner != nil || d.options.Coalesce < 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newer.timer == nil {
		return false
	}
	if waiting := d.newer.topology; waiting == nil || t.Version > waiting.Version {
		d.newer.topology = &t
	}
	return true
}

// enforceTopology gives a topology to the coordinator.
func (d *Driver) enforceTopology(t placement.Topology) error {
	return d.callCore(func(now time.Time) (core.Outcome, error) {
		out, err := d.core.UpdateTopology(t, now)
		if err == nil {
			close(d.changed)
			d.changed = make(chan struct{})
			d.startQuietTime()
		}
		return out, err
	})
}

// startQuietTime makes topologies wait from now on, for Options.Coalesce. The caller holds
// d.mu.
func (d *Driver) startQuietTime() {
	if d.options.Runner != nil || d.options.Coalesce < 0 || d.newer.timer != nil || d.core.State() == placement.StateStopped {
		return
	}
	d.newer.timer = time.AfterFunc(d.options.Coalesce, d.enforceNewest)
}

// enforceNewest ends the quiet time, and enforces the topology that has waited, if any.
func (d *Driver) enforceNewest() {
	d.mu.Lock()
	t := d.newer.topology
	d.newer = topologyQueue{}
	d.mu.Unlock()
	if t == nil {
		return
	}
	if err := d.enforceTopology(*t); err != nil {
		d.options.Logger.Warn("placement: a topology is refused", "version", t.Version, "error", err)
	}
}

// dropTopologies drops the waiting topology.
func (d *Driver) dropTopologies() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newer.timer != nil {
		d.newer.timer.Stop()
	}
	d.newer = topologyQueue{}
}

// BusyError says that an idle activation was not ended, because it was used in the
// meantime.
type BusyError struct {
	UsedAt time.Time // not the zero time
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("driver: the activation was used at %v", e.UsedAt.Format(time.RFC3339Nano))
}

// StopError says what the driver had not handed back when the context of [Driver.Stop]
// ended. The driver goes on handing back while [Driver.Run] or Stop runs.
type StopError struct {
	Held     int                        // activations, requests and leases
	Requests []placement.PendingRequest // at most 100 of the running ones
	Err      error                      // the cause of the context's end
}

// Error implements error.
func (e *StopError) Error() string {
	text := fmt.Sprintf("driver: %d activations, requests and leases are not handed back: %v", e.Held, e.Err)
	if len(e.Requests) > 0 {
		text += fmt.Sprintf("; first %s, in step %s of epoch %d", e.Requests[0].Key, e.Requests[0].Step, e.Requests[0].Epoch)
	}
	return text
}

// Unwrap returns the cause of the context's end.
func (e *StopError) Unwrap() error { return e.Err }
