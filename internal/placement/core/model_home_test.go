// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"pgregory.net/rapid"
)

// home is a naive home of locks, entries and activations, which does what their
// contracts say.
type home struct {
	kept bool // the claim is the activation
	rows map[placement.Key]*row
	live map[activationID]bool // what the executor has made and not ended
}

type activationID struct {
	key   placement.Key
	epoch int64
}

// row is what the home has of a key.
type row struct {
	last    int64           // the greatest epoch granted
	owner   placement.Owner // zero: the lock is free
	epoch   int64
	request placement.RequestID
	expires time.Time
	entry   *ActivationEntry
	stored  map[int64]bool // the epochs that were stored
}

func newHome(kept bool) *home {
	return &home{kept: kept, rows: map[placement.Key]*row{}, live: map[activationID]bool{}}
}

func (h *home) row(key placement.Key) *row {
	if h.rows[key] == nil {
		h.rows[key] = &row{stored: map[int64]bool{}}
	}
	return h.rows[key]
}

func (r *row) isHeld(now time.Time) bool {
	return !r.owner.IsZero() && (r.expires.IsZero() || now.Before(r.expires))
}

func (r *row) free() { r.owner, r.epoch, r.request = placement.Owner{}, 0, 0 }

// execute does what a command says. ttl is that of a lease that is granted, busy
// says that the executor has used an idle activation.
func (h *home) execute(cmd Command, now time.Time, ttl time.Duration, busy bool) CommandResult {
	id, key := cmd.Correlation()
	r := h.row(key)
	switch cmd := cmd.(type) {
	case TryAcquire:
		l, err := h.tryAcquire(r, cmd, now, ttl)
		return LockAcquired{RequestID: id, Key: key, Lease: l, Err: err}
	case LoadActivation:
		return ActivationLoaded{RequestID: id, Key: key, Entry: r.entry}
	case EnsureActivation:
		h.live[activationID{key, cmd.Epoch}] = true
		return ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch}
	case StoreActivation:
		return ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: h.store(r, cmd, now)}
	case Release:
		return LockReleased{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: h.release(r, cmd.Lease)}
	case RemoveActivation:
		return ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: h.remove(r, cmd)}
	case Deactivate:
		d := ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch}
		if busy && cmd.Cause == placement.CauseIdle && h.live[activationID{key, cmd.Epoch}] {
			d.UsedAt = now
		} else {
			delete(h.live, activationID{key, cmd.Epoch})
		}
		return d
	}
	panic("unknown command")
}

func (h *home) tryAcquire(r *row, cmd TryAcquire, now time.Time, ttl time.Duration) (Lease, error) {
	l := Lease{Key: cmd.Key, Owner: cmd.Owner, Request: cmd.RequestID, Kept: h.kept, Loaded: h.kept}
	switch {
	case r.isHeld(now) && r.owner != cmd.Owner:
		return Lease{}, &LockError{Key: cmd.Key, Holder: placement.Holder{Owner: r.owner, Epoch: r.epoch}, Err: placement.ErrHeld}
	case r.isHeld(now) && cmd.RequestID < r.request:
		return Lease{}, &LockError{Key: cmd.Key, Err: placement.ErrStale}
	case !(r.isHeld(now) && r.request == cmd.RequestID):
		r.last++
		r.owner, r.epoch, r.request, r.expires = cmd.Owner, r.last, cmd.RequestID, time.Time{}
		if ttl > 0 {
			r.expires = now.Add(ttl)
		}
	}
	l.Epoch, l.ExpiresAt, l.Entry = r.epoch, r.expires, r.entry
	return l, nil
}

func (h *home) store(r *row, cmd StoreActivation, now time.Time) error {
	if !r.isHeld(now) || r.owner != cmd.Lease.Owner || r.epoch != cmd.Lease.Epoch || r.entry != nil && r.entry.Epoch > cmd.Lease.Epoch {
		return &StorageError{Key: cmd.Key, Op: "store", Err: placement.ErrStale}
	}
	e := cmd.Entry
	r.entry = &e
	r.stored[e.Epoch] = true
	return nil
}

func (h *home) release(r *row, l Lease) error {
	if r.owner.IsZero() {
		return nil
	}
	if r.owner != l.Owner || r.epoch != l.Epoch {
		return &LockError{Key: l.Key, Err: placement.ErrStale}
	}
	r.free()
	if h.kept {
		r.entry = nil
	}
	return nil
}

func (h *home) remove(r *row, cmd RemoveActivation) error {
	if h.kept && r.owner == cmd.Owner && r.epoch == cmd.Epoch {
		r.free()
	}
	switch {
	case r.entry == nil:
		return nil
	case r.entry.Owner != cmd.Owner || r.entry.Epoch != cmd.Epoch:
		return &StorageError{Key: cmd.Key, Op: "remove", Err: placement.ErrStale}
	}
	r.entry = nil
	return nil
}

// steal gives a key to another member: the home takes its owner for dead.
func (h *home) steal(key placement.Key, to placement.Owner, version int64) {
	r := h.row(key)
	r.last++
	r.owner, r.epoch, r.request, r.expires = to, r.last, 0, time.Time{}
	r.entry = &ActivationEntry{Owner: to, Epoch: r.last, Topology: version}
	if !h.kept {
		r.free()
	}
}

// yield gives back what another member has of a key.
func (h *home) yield(key placement.Key, self placement.Owner) {
	r := h.row(key)
	if r.owner != self {
		r.free()
	}
	if r.entry != nil && r.entry.Owner != self {
		r.entry = nil
	}
}

// failure is the result of a command of unknown outcome.
func failure(cmd Command) CommandResult {
	id, key := cmd.Correlation()
	err := fmt.Errorf("%w: %w", placement.ErrUnavailable, context.DeadlineExceeded)
	switch cmd := cmd.(type) {
	case TryAcquire:
		return LockAcquired{RequestID: id, Key: key, Err: &LockError{Key: key, Err: err}}
	case LoadActivation:
		return ActivationLoaded{RequestID: id, Key: key, Err: err}
	case EnsureActivation:
		return ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	case StoreActivation:
		return ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: err}
	case Release:
		return LockReleased{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: err}
	case Deactivate:
		return ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	case RemoveActivation:
		return ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	}
	panic("unknown command")
}

// actions returns what may happen in any order. What happens more often is there twice.
func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"resolve":  func(*rapid.T) { m.resolve() },
		"resolve2": func(*rapid.T) { m.resolve() },
		"execute":  func(*rapid.T) { m.execute() },
		"execute2": func(*rapid.T) { m.execute() },
		"deliver":  func(*rapid.T) { m.deliverOne(false) },
		"deliver2": func(*rapid.T) { m.deliverOne(false) },
		"serve":    func(*rapid.T) { m.serve() },
		"double":   func(*rapid.T) { m.deliverOne(true) },
		"fail":     func(*rapid.T) { m.fail() },
		"abandon":  func(*rapid.T) { m.abandon() },
		"topology": func(*rapid.T) { m.changeTopology() },
		"tick":     func(*rapid.T) { m.tick() },
		"idle":     func(*rapid.T) { m.take(m.c.PassivateIdle(m.now, 3*time.Second), nil) },
		"steal":    func(*rapid.T) { m.steal() },
		"yield":    func(*rapid.T) { m.home.yield(m.key(), selfA) },
		"lose":     func(*rapid.T) { m.loseStolen() },
		"location": func(*rapid.T) { m.location() },
		"restart":  func(*rapid.T) { m.restart() },
	}
}

func (m *model) resolve() {
	key := m.key()
	out := m.take(m.c.Resolve(key, m.now))
	switch {
	case len(out.Events) == 0:
		m.Fatal("a resolve without an event")
	case out.Resolution != nil:
		m.checkResolution(key, *out.Resolution)
	case out.Request == 0:
	case m.ended[out.Request]:
		m.Fatalf("a resolve waits for request %d, which was answered", out.Request)
	default:
		m.waiting[out.Request]++
	}
}

// pick returns a random call that is of use, nil if there is none.
func (m *model) pick(use func(*call) bool) *call {
	var some []*call
	for _, c := range m.calls {
		if use(c) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return rapid.SampledFrom(some).Draw(m.T, "call")
}

// execute lets the home execute a command, even one that counts as failed.
func (m *model) execute() {
	if c := m.pick(func(c *call) bool { return c.result == nil }); c != nil {
		m.run(c)
	}
}

func (m *model) run(c *call) {
	ttl := time.Duration(0)
	if !m.home.kept {
		ttl = time.Duration(rapid.IntRange(1, 20).Draw(m.T, "ttl")) * time.Second
	}
	c.owed = c.answered
	c.result = m.home.execute(c.cmd, m.now, ttl, rapid.Bool().Draw(m.T, "busy"))
	if e, failed := c.result.(ActivationEnsured); failed && rapid.IntRange(0, 3).Draw(m.T, "fails") == 0 {
		delete(m.home.live, activationID{e.Key, e.Epoch})
		e.Err = errors.New("the executor fails")
		c.result = e
	}
}

// deliverOne delivers a result, for the first time or again.
func (m *model) deliverOne(again bool) {
	if c := m.pick(func(c *call) bool { return c.result != nil && (again || !c.answered) }); c != nil {
		m.deliver(c, c.result)
	}
}

// serve executes and delivers whatever is due, in order.
func (m *model) serve() {
	for i := 0; i < len(m.calls); i++ {
		if c := m.calls[i]; !c.answered {
			if c.result == nil {
				m.run(c)
			}
			m.deliver(c, c.result)
		}
	}
}

// fail delivers that the outcome of a command is not known, whether it was executed or not.
func (m *model) fail() {
	if c := m.pick(func(c *call) bool { return !c.answered }); c != nil {
		m.deliver(c, failure(c.cmd))
	}
}

func (m *model) abandon() {
	for id, n := range m.waiting {
		if n > 0 && len(m.waiting) == 1 {
			m.c.Abandon(id)
			m.waiting[id]--
		}
	}
}

func (m *model) changeTopology() {
	sets := [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "c"}, {"a", "b", "c", "d"}}
	m.newTopology(rapid.SampledFrom(sets).Draw(m.T, "members")...)
}

func (m *model) tick() {
	m.now = m.now.Add(time.Duration(rapid.IntRange(-2, 8).Draw(m.T, "seconds")) * time.Second)
	m.take(m.c.Tick(m.now), nil)
}

func (m *model) steal() {
	key := m.key()
	m.home.steal(key, member("b").Owner, m.version)
	m.holders[key] = append(m.holders[key], placement.Holder{Owner: member("b").Owner, Epoch: m.home.row(key).last})
}

// loseStolen tells of the activations that have lost their fence to another member.
func (m *model) loseStolen() {
	for _, a := range m.c.Snapshot().Activations {
		if m.home.row(a.Key).last > a.Epoch && m.isStolen(a) {
			m.take(m.c.LoseActivation(a.Key, a.Epoch, m.now), nil)
		}
	}
}

func (m *model) isStolen(a placement.ActiveKey) bool {
	for _, h := range m.holders[a.Key] {
		if h.Epoch > a.Epoch {
			return true
		}
	}
	return false
}

// location tells of where another member has, or had, a key, or takes it back.
func (m *model) location() {
	key := m.key()
	if r := m.home.row(key); r.owner == selfA { // another member was told so
		m.take(m.c.Forget(key, placement.Holder{Owner: selfA, Epoch: r.epoch}, m.now), nil)
	}
	if len(m.holders[key]) == 0 {
		return
	}
	h := rapid.SampledFrom(m.holders[key]).Draw(m.T, "holder")
	if rapid.Bool().Draw(m.T, "forget") {
		m.take(m.c.Forget(key, h, m.now), nil)
		return
	}
	m.take(m.c.Learn(key, h, m.now), nil)
}

// restart stops the coordinator, or starts it again once nothing is held.
func (m *model) restart() {
	switch rapid.IntRange(0, 7).Draw(m.T, "restart") {
	case 0:
		m.take(m.c.Stop(m.now))
	case 1:
		if m.version > 3 && rapid.IntRange(0, 5).Draw(m.T, "dies") == 0 {
			m.dead = m.dead || m.c.State() == placement.StateMember
			m.newTopology("b")
		}
	default:
		if m.c.State() == placement.StateStopped {
			m.take(m.c.StartMember([]string{"k"}, m.now))
		}
	}
}

// heal lets everything be executed and delivered, and time pass, until nothing changes any more.
func (m *model) heal() {
	for range 40 {
		for _, c := range m.calls {
			if c.answered && c.result == nil {
				m.run(c) // it was given up, and happens at last
			}
			if c.owed {
				m.deliver(c, c.result)
			}
		}
		m.serve()
		m.loseStolen()
		m.now = m.now.Add(30 * time.Second)
		m.take(m.c.Tick(m.now), nil)
	}
	m.serve()
}
