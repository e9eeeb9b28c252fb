// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"context"
	"log"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer/internal/turn"
)

// Options configure a [Driver]. The zero value is ready to use.
type Options struct {
	// Config says how long the timers run.
	Config Config

	// Source is what election timeouts are drawn from. Give each node another
	// seed. The Driver alone may use it. The default value is seeded at random.
	Source rand.Source

	// Time is the time to go by. The default value is the system's clock, in one
	// goroutine with one timer. With another provider, callbacks run where that
	// runs its own.
	Time TimeProvider

	// OnElectionTimeout, OnHeartbeat and OnStall are called for events, one at a
	// time; they say what a role's timers do. They may call every method of the
	// Driver. While one runs no other does, so that one that blocks makes the
	// next events late. The default value, nil, gives the events of its kind to
	// [Driver.Events].
	OnElectionTimeout func(Event)
	OnHeartbeat       func(Event)
	OnStall           func(Event)

	// OnPanic is called if a callback panics, with the event of the callback, the value of the
	// panic and the stack of its goroutine; the timers go on. The default value prints them with
	// package log. A panic of OnPanic itself is not recovered.
	OnPanic func(e Event, value any, stack []byte)
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error { return o.Config.Validate() }

// Driver runs a [Machine] by a clock: it is the RaftTimer of the specification. Events go to
// callbacks, or where there is none to [Driver.Events].
//
// All methods are safe for concurrent use, and may be called by callbacks. When
// a method that stops, starts or resets a timer or changes the role has
// returned, no callback for an earlier event runs, and none is left in Events: the method waits
// for a callback that runs. Only a call from inside of a callback, of this Driver or another, does
// not wait; a goroutine that a callback has started is not inside of it. So do not hold a lock that a
// callback needs while calling such a method: see "Locks and event loops" in the package's documentation.
//
// After Close the methods that can say so return [ErrClosed]; the others do nothing.
type Driver struct {
	options Options
	contact atomic.Int64 // the latest that the machine does not know of, as a time, or noContact
	alarm   alarm
	events  chan Event // of all kinds, at most one of each

	turn     turn.Turn // guards what follows
	machine  *Machine
	election func(Event) // in place of Options.OnElectionTimeout
	beat     func(Event) // in place of Options.OnHeartbeat
	closed   bool
	release  func() bool // ends the wait for the context
	gone     func()      // waits until what the alarm has started is gone; set by Close
}

// noContact is a time before all others.
const noContact = math.MinInt64

// New returns a driver without a role or a running timer. It is closed
// when ctx ends, or by [Driver.Close], which every Driver needs. The error is
// that of [Options.Validate].
func New(ctx context.Context, o Options) (*Driver, error) {
	machine, err := NewMachine(o.Config, o.Source)
	if err != nil {
		return nil, err
	}
	if o.OnPanic == nil {
		o.OnPanic = logPanic
	}
	d := &Driver{options: o, machine: machine, events: make(chan Event, kinds)}
	d.contact.Store(noContact)
	d.turn.Lock() // the alarm and the context may fire at once
	defer d.turn.Unlock()
	if o.Time == nil {
		d.alarm = newSystemAlarm(d.fireDue)
	} else {
		d.alarm = newProviderAlarm(o.Time, d.fireDue)
	}
	d.release = context.AfterFunc(ctx, func() { d.Close() })
	return d, nil
}

// Close stops all timers, closes Events and frees what the driver holds. When it
// returns, no callback runs and no goroutine of the driver is left; from inside
// of a callback, once that has returned. Closing again does nothing. It returns nil.
func (d *Driver) Close() error {
	d.turn.Lock()
	if !d.closed {
		d.close()
	}
	d.turn.Unlock()
	if !turn.InCallback() {
		d.gone()
	}
	return nil
}

// close does the part of Close that holds the turn.
func (d *Driver) close() {
	d.closed = true
	d.machine.StopAll()
	d.offerEvent(Event{})
	d.release()
	d.gone = d.alarm.shutDown()
	close(d.events)
}

// Contact says that the node has heard from a valid leader just now: the election
// timeout counts anew. It waits for nothing and allocates nothing.
func (d *Driver) Contact() {
	at := int64(d.alarm.now())
	for {
		known := d.contact.Load()
		if known >= at || d.contact.CompareAndSwap(known, at) {
			return
		}
	}
}

// ObserveBroadcast is [Machine.ObserveBroadcast].
func (d *Driver) ObserveBroadcast(took time.Duration) {
	d.turn.LockNow()
	defer d.turn.Unlock()
	if !d.closed {
		d.learnContact()
		d.machine.setNow(d.alarm.now())
		d.machine.ObserveBroadcast(took)
		d.setAlarm()
	}
}

// State tells which timers run.
func (d *Driver) State() TimerState {
	d.turn.LockNow()
	defer d.turn.Unlock()
	return d.machine.State()
}

// Role returns the role; NoRole after Close.
func (d *Driver) Role() Role {
	d.turn.LockNow()
	defer d.turn.Unlock()
	return d.machine.Role()
}

// IsCurrent reports whether nothing has made the event stale since: see
// [Machine.IsCurrent].
func (d *Driver) IsCurrent(e Event) bool {
	d.turn.LockNow()
	defer d.turn.Unlock()
	d.learnContact()
	return !d.closed && d.machine.IsCurrent(e)
}

// Now returns the present time as events count it: since New.
func (d *Driver) Now() time.Duration { return d.alarm.now() }

// Events returns the channel of the events for which there is no callback. It holds at most one
// event of each kind: a new one takes the place of one that was not received,
// and a heartbeat counts what it replaces as missed. Events that a stop, a start, a reset or a role
// change makes stale are taken back. A contact takes nothing back, since it waits for nothing: the
// election timeout that it makes stale is still there, and so may be an event that was received
// while another goroutine made it stale. So ask [Driver.IsCurrent] about each. It is closed by
// Close.
func (d *Driver) Events() <-chan Event { return d.events }

// changeTimers has f change the machine, and sets the alarm anew.
func (d *Driver) changeTimers(f func(m *Machine, now time.Duration) error) error {
	d.turn.Lock()
	defer d.turn.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.learnContact()
	if d.machine.State() == (TimerState{}) {
		d.alarm.slept() // no timer ran during that time, so that none has stood still
	}
	if err := f(d.machine, d.alarm.now()); err != nil {
		return err
	}
	d.offerEvent(Event{})
	d.setAlarm()
	return nil
}

// learnContact tells the machine of the latest contact.
func (d *Driver) learnContact() {
	if at := d.contact.Swap(noContact); at != noContact {
		d.machine.Contact(time.Duration(at))
	}
}

// setAlarm has the driver woken up at the machine's next deadline. A contact leaves the
// alarm alone: it comes too early then, and is set anew. It also comes when a contact from
// now on could be due that ends a back-off.
func (d *Driver) setAlarm() {
	deadline, ok := d.machine.NextDeadline()
	if !ok {
		d.alarm.stop()
		return
	}
	delay := deadline - d.alarm.now()
	if heard := d.machine.ContactTimeout(); heard > 0 {
		delay = min(delay, heard)
	}
	d.alarm.set(delay)
}

// fireDue serves the alarm. The alarm is set anew before callbacks run: one of them may
// advance a mocked time.
func (d *Driver) fireDue() {
	d.turn.Lock()
	defer d.turn.Unlock()
	if d.closed {
		return
	}
	d.learnContact()
	now := d.alarm.now()
	events := d.machine.NoteStall(make([]Event, 0, kinds), now, d.alarm.slept())
	events = d.machine.Advance(events, now)
	d.setAlarm()
	d.deliverAll(events)
}

// deliverAll delivers events in their order, except those that the callback of an earlier one, or a
// contact during that callback, has made stale. If a callback ends the goroutine by runtime.Goexit, the later
// events are delivered all the same.
func (d *Driver) deliverAll(events []Event) {
	if len(events) == 0 {
		return
	}
	defer d.deliverAll(events[1:])
	d.learnContact()
	if !d.closed && d.machine.IsCurrent(events[0]) {
		d.deliverEvent(events[0])
	}
}

// deliverEvent gives an event to its callback or to the channel.
func (d *Driver) deliverEvent(e Event) {
	f := d.callback(e.Kind)
	if f == nil {
		d.offerEvent(e)
		return
	}
	d.turn.Call(func() { d.callBack(f, e) })
}

func (d *Driver) callback(k Kind) func(Event) {
	switch {
	case k == Stall:
		return d.options.OnStall
	case k == ElectionTimeout && d.election != nil:
		return d.election
	case k == ElectionTimeout:
		return d.options.OnElectionTimeout
	case d.beat != nil:
		return d.beat
	}
	return d.options.OnHeartbeat
}

// callBack runs a callback, and reports its panic.
func (d *Driver) callBack(f func(Event), e Event) {
	defer func() {
		if v := recover(); v != nil {
			d.options.OnPanic(e, v, debug.Stack())
		}
	}()
	f(e)
}

// logPanic is the default OnPanic.
func logPanic(e Event, value any, stack []byte) {
	log.Printf("rafttimer: callback of %v panicked: %v\n%s", e.Kind, value, stack)
}

// BecomeFollower is [Machine.BecomeFollower]. The callbacks are those of the
// Options, for every role.
func (d *Driver) BecomeFollower() error { return d.changeRole((*Machine).BecomeFollower) }

// BecomeCandidate is [Machine.BecomeCandidate].
func (d *Driver) BecomeCandidate() error { return d.changeRole((*Machine).BecomeCandidate) }

// BecomeLeader is [Machine.BecomeLeader].
func (d *Driver) BecomeLeader() error { return d.changeRole((*Machine).BecomeLeader) }

func (d *Driver) changeRole(role func(*Machine, time.Duration)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		d.election, d.beat = nil, nil
		role(m, now)
		return nil
	})
}

// StartElectionTimeout is [Machine.StartElectionTimeout], with a callback for this
// timer; nil stands for Options.OnElectionTimeout.
func (d *Driver) StartElectionTimeout(callback func(Event)) error {
	return d.startElection((*Machine).StartElectionTimeout, callback)
}

// ResetElectionTimeout is [Machine.ResetElectionTimeout], with a callback as
// StartElectionTimeout has it.
func (d *Driver) ResetElectionTimeout(callback func(Event)) error {
	return d.startElection((*Machine).ResetElectionTimeout, callback)
}

func (d *Driver) startElection(start func(*Machine, time.Duration) error, callback func(Event)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		if err := start(m, now); err != nil {
			return err
		}
		d.election = callback
		return nil
	})
}

// StopElectionTimeout is [Machine.StopElectionTimeout].
func (d *Driver) StopElectionTimeout() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error { return m.StopElectionTimeout() })
}

// StartHeartbeat is [Machine.StartHeartbeat], with a callback for this timer; nil
// stands for Options.OnHeartbeat.
func (d *Driver) StartHeartbeat(callback func(Event)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		if err := m.StartHeartbeat(now); err != nil {
			return err
		}
		d.beat = callback
		return nil
	})
}

// StopHeartbeat is [Machine.StopHeartbeat].
func (d *Driver) StopHeartbeat() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error { return m.StopHeartbeat() })
}

// StopAll is [Machine.StopAll].
func (d *Driver) StopAll() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error {
		m.StopAll()
		return nil
	})
}

// offerEvent puts a new event into the channel, and takes out what is stale or what it
// replaces. With the zero Event it only takes out. The driver's turn is held, and
// only its holder sends, so that there is always room.
func (d *Driver) offerEvent(e Event) {
	for range len(d.events) {
		select {
		case old := <-d.events:
			if old.Kind == e.Kind {
				e = e.mergeWith(old)
			} else if d.machine.IsCurrent(old) {
				d.events <- old
			}
		default: // a receiver was faster
		}
	}
	if e.Kind != 0 {
		d.events <- e
	}
}
