// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Driver executes what a [placement.Coordinator] decides. All methods are safe for
// concurrent use; homes, executors and handlers of events may call them.
type Driver struct {
	homes    Homes
	options  Options
	commands pool
	events   feed[placement.Event]
	cached   feed[placement.CacheEvent]
	silent   bool // no handler of events is set

	mu      sync.Mutex // guards the fields below
	core    *placement.Coordinator
	waiters map[placement.RequestID]*list.List // of *waiter
	newer   topologyQueue
	changed chan struct{} // closed and replaced when another topology comes into force
	idle    chan struct{} // closed once the coordinator holds nothing; nil: Stop does not wait
}

// New returns a driver of the coordinator, which only the driver may use from now on. The
// error has all faults of the arguments.
func New(c *placement.Coordinator, h Homes, o Options) (*Driver, error) {
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
	d.cached = feed[placement.CacheEvent]{handle: o.CacheEvents, limit: d.options.EventBuffer, log: d.options.Logger}
	return d, nil
}

// StartMember makes this process a member that activates the kinds, once a
// topology lists it.
func (d *Driver) StartMember(kinds []string) error {
	if err := d.homes.validate(); err != nil {
		return fmt.Errorf("driver: a member needs homes: %w", err)
	}
	d.commands.spreadClaims(d.options.ClaimSpread)
	return d.callCore(func(now time.Time) (placement.Outcome, error) { return d.core.StartMember(kinds, now) })
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
	d.notifyCore(func(now time.Time) placement.Outcome { return d.core.OnMemberLeft(o, now) })
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
	d.notifyCore(func(now time.Time) placement.Outcome { return d.core.Passivate(key, epoch, now) })
}

// LoseActivation says that another owner may have the key: a fence has refused
// the epoch.
func (d *Driver) LoseActivation(key placement.Key, epoch int64) {
	d.notifyCore(func(now time.Time) placement.Outcome { return d.core.LoseActivation(key, epoch, now) })
}

// Learn says where a key is active, according to another member. A newer epoch replaces
// an older one, never the reverse.
func (d *Driver) Learn(key placement.Key, h placement.Holder) {
	d.notifyCore(func(now time.Time) placement.Outcome { return d.core.Learn(key, h, now) })
}

// Forget says that a key is not active at a holder: that of a resolution to which a call was
// sent, and refused. If the holder is this member, another member has sent a call here for a
// key that resolves elsewhere; what a home still has under that epoch is given back.
func (d *Driver) Forget(key placement.Key, h placement.Holder) {
	d.notifyCore(func(now time.Time) placement.Outcome { return d.core.Forget(key, h, now) })
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
