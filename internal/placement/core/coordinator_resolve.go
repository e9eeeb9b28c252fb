// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/recency"
	"github.com/kazahana-db/kazahana/placement"
)

// Resolve finds out where to send a message for a key. The outcome has either a
// resolution, or the request that the resolve waits for. In that case the outcome of a
// later call has the answer, once for all resolves that wait for the request. If the key
// is active here or belongs elsewhere, the resolution comes at once and without a command.
//
// The errors are [placement.ErrInvalidKey], [placement.ErrNotReady], [placement.ErrStopped], [placement.ErrNoMember] and
// [placement.ErrOverloaded]. The outcome has events even with an error.
func (c *Coordinator) Resolve(key placement.Key, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if c.state == placement.StateMember {
		if n := c.active.Get(key); n != nil && n.Value.checked == c.generation {
			c.resolveActive(n)
			return c.out, nil
		}
	}
	if err := c.resolveKey(key); err != nil {
		c.emit(placement.Event{Kind: placement.Refused, Key: key, Reason: err.Error()})
		return c.out, err
	}
	return c.out, nil
}

func (c *Coordinator) resolveKey(key placement.Key) error {
	if err := key.Validate(); err != nil {
		return err
	}
	if err := c.refusal(); err != nil {
		return err
	}
	if n := c.active.Get(key); n != nil {
		return c.recheckActive(n)
	}
	if w := c.workOfKey(key); w != nil && w.retryAt == 0 {
		return c.joinWork(w)
	}
	return c.resolveInactive(key)
}

// refusal says why the coordinator resolves nothing, nil if it does.
func (c *Coordinator) refusal() error {
	switch {
	case c.dead != "":
		return placement.ErrDead
	case c.state == placement.StateStopped:
		return placement.ErrStopped
	case c.state == placement.StateNotReady:
		return placement.ErrNotReady
	}
	return nil
}

// resolveActive answers a resolve with an activation in use here.
func (c *Coordinator) resolveActive(n *recency.Node[placement.Key, activation]) {
	c.markUsed(n)
	c.found = c.localResolution(n)
	c.out.Resolution = &c.found
	c.emitResolved(&c.found, 0, "")
}

func (c *Coordinator) markUsed(n *recency.Node[placement.Key, activation]) {
	n.Value.used = c.clock
	c.active.Touch(n)
}

func (c *Coordinator) localResolution(n *recency.Node[placement.Key, activation]) Resolution {
	return Resolution{
		Decision: c.newDecision(n.Key, c.o.Self, c.o.Address, n.Value.topology),
		Locality: Local, Owner: c.o.Self, Address: c.o.Address, Epoch: n.Value.epoch, PID: n.Value.pid,
	}
}

func (c *Coordinator) newDecision(key placement.Key, authority placement.Owner, address string, topology int64) placement.Decision {
	return placement.Decision{Key: key, Authority: authority, Address: address, Topology: topology, Strategy: c.name, ObservedAt: c.now}
}

// recheckActive answers a resolve of a key that became active here under an older view:
// if it belongs to another member now, it moves, and the resolve waits.
func (c *Coordinator) recheckActive(n *recency.Node[placement.Key, activation]) error {
	if c.belongsHere(n) {
		c.resolveActive(n)
		return nil
	}
	return c.joinWork(c.moveAway(n))
}

// belongsHere reports whether an activation belongs here by the view in force. If no
// member can have it, it stays.
func (c *Coordinator) belongsHere(n *recency.Node[placement.Key, activation]) bool {
	if n.Value.checked == c.generation {
		return true
	}
	if d, err := c.decideHeld(n.Key); err == nil && d.Authority != c.o.Self {
		return false
	}
	n.Value.checked, n.Value.topology = c.generation, c.view.version
	return true
}

// decideHeld decides where a key belongs that this member has. With a strategy that
// does not rebalance it belongs here if the member may have it.
func (c *Coordinator) decideHeld(key placement.Key) (placement.Decision, error) {
	all := c.view.kinds[key.Kind]
	if all.Self < 0 || len(all.Members) == 0 {
		return c.decideAuthority(key)
	}
	alone := placement.Candidates{Members: all.Members[all.Self : all.Self+1], Topology: all.Topology}
	if !c.strategyKeeps(key, alone) {
		return c.decideAuthority(key)
	}
	return c.newDecision(key, c.o.Self, c.o.Address, c.view.version), nil
}

// decideAuthority decides where a key belongs. The error is an ErrNoMember; the decision
// is without an authority then.
func (c *Coordinator) decideAuthority(key placement.Key) (placement.Decision, error) {
	all := c.view.kinds[key.Kind]
	if len(all.Members) == 0 {
		return c.newDecision(key, placement.Owner{}, "", c.view.version), c.noMember(key, c.view.lackReason(key.Kind))
	}
	i, err := c.choose(key, all)
	if err != nil {
		return c.newDecision(key, placement.Owner{}, "", c.view.version), err
	}
	m := all.Members[i]
	return c.newDecision(key, m.Owner, m.Address, c.view.version), nil
}

// choose asks the strategy for a member. The strategy is code of the program: if it panics, the
// error says so, and the coordinator, which has changed nothing yet, goes on.
func (c *Coordinator) choose(key placement.Key, from placement.Candidates) (i int, err error) {
	defer func() {
		if p := recover(); p != nil {
			i, err = -1, c.noMember(key, fmt.Sprintf("the strategy panicked: %v\n%s", p, debug.Stack()))
		}
	}()
	if i = c.o.Strategy.Choose(key, from); i < 0 || i >= len(from.Members) {
		return -1, c.noMember(key, fmt.Sprintf("the strategy %s takes none of the %d members that activate the kind", c.name, len(from.Members)))
	}
	return i, nil
}

// strategyKeeps reports whether the strategy leaves an activation at its member. If it
// panics, decideAuthority asks it once more, and reports what it does then.
func (c *Coordinator) strategyKeeps(key placement.Key, alone placement.Candidates) (keeps bool) {
	defer func() { keeps = recover() == nil && keeps }()
	if r, ok := c.o.Strategy.(placement.Rebalancer); ok && r.Rebalances() {
		return false
	}
	return c.o.Strategy.Choose(key, alone) == 0
}

func (c *Coordinator) noMember(key placement.Key, reason string) error {
	return fmt.Errorf("%w: %s in topology %d: %s", placement.ErrNoMember, key, c.view.version, reason)
}

// resolveInactive answers a resolve of a key that is not active here.
func (c *Coordinator) resolveInactive(key placement.Key) error {
	r, reason, err := c.resolveElsewhere(key)
	switch {
	case err != nil:
		return err
	case r.Locality == Remote:
		c.found = r
		c.out.Resolution = &c.found
		c.emitResolved(&r, 0, reason)
		return nil
	}
	return c.requestActivation(key)
}

// resolveElsewhere returns the resolution of a key that is not active here and is, or
// belongs, elsewhere. The zero Resolution means that it belongs here.
func (c *Coordinator) resolveElsewhere(key placement.Key) (r Resolution, reason string, err error) {
	h, known := c.location(key)
	d, err := c.decideAuthority(key)
	switch {
	case known:
		return c.remoteResolution(d, h), "cached", nil
	case err != nil:
		return Resolution{}, "", err
	case d.Authority != c.o.Self || c.role == placement.StateClient:
		return c.remoteResolution(d, placement.Holder{Owner: d.Authority, Address: d.Address}), "", nil
	case !slices.Contains(c.kinds, key.Kind):
		return Resolution{}, "", c.noMember(key, fmt.Sprintf("%s was started without the kind that the topology lists for it", c.o.Self))
	}
	return Resolution{}, "", nil
}

func (c *Coordinator) remoteResolution(d placement.Decision, h placement.Holder) Resolution {
	if h.Address == "" {
		h.Address = c.view.addressOf(h.Owner)
	}
	return Resolution{Decision: d, Locality: Remote, Owner: h.Owner, Address: h.Address, Epoch: h.Epoch}
}

// joinWork makes a resolve wait for the work of its key.
func (c *Coordinator) joinWork(w *work) error {
	if w.wait.id != 0 && w.wait.count >= c.o.MaxWaiters {
		return fmt.Errorf("%w: %d resolves wait for %s", placement.ErrOverloaded, w.wait.count, w.key)
	}
	kind := placement.Joined
	if w.wait.id == 0 {
		c.addWaiters(w, wait{id: c.nextID(), began: c.clock})
		kind = placement.Requested
	}
	w.wait.count++
	c.out.Request = w.wait.id
	c.emit(placement.Event{Kind: kind, Key: w.key, Owner: c.o.Self, Request: w.wait.id, Reason: w.step.String()})
	return nil
}

// addWaiters makes resolves wait for a work.
func (c *Coordinator) addWaiters(w *work, waiting wait) {
	w.wait = waiting
	c.waits[waiting.id] = w
}

// requestActivation begins to activate a key.
func (c *Coordinator) requestActivation(key placement.Key) error {
	w := c.workOfKey(key)
	if w != nil && w.isOpen() {
		return c.reviveClaim(w)
	}
	if c.requests >= c.o.MaxRequests {
		return fmt.Errorf("%w: %d requests are under way", placement.ErrOverloaded, c.requests)
	}
	if w != nil {
		c.detachWork(w)
	}
	c.out.Request = c.nextID()
	c.beginRequest(key, wait{id: c.out.Request, count: 1, began: c.clock})
	return nil
}

// reviveClaim makes a resolve wait for a claim of unknown outcome, and repeats
// the claim at once.
func (c *Coordinator) reviveClaim(w *work) error {
	if err := c.joinWork(w); err != nil {
		return err
	}
	c.commandAcquire(w)
	return nil
}

// Abandon says that one of the resolves that wait for a request has given up. The
// request goes on: its activation serves later resolves.
func (c *Coordinator) Abandon(id placement.RequestID) {
	if w := c.waits[id]; w != nil && w.wait.count > 0 {
		w.wait.count--
	}
}

// The places of keys are a cache, bounded by Options.CacheSize. It has the locations of
// activations of other members, and the epochs of activations of this member that have
// ended. The coordinator does not believe a location of an epoch older than that.

// location returns where another member that is alive has a key.
func (c *Coordinator) location(key placement.Key) (placement.Holder, bool) {
	n := c.places.Get(key)
	if n == nil || n.Value.Owner == c.o.Self {
		return placement.Holder{}, false
	}
	if !c.view.isAlive(n.Value.Owner) {
		c.evictPlace(n, "its owner is not in the topology")
		return placement.Holder{}, false
	}
	c.places.Touch(n)
	c.cacheEvent(CacheHit, n, "")
	return n.Value, true
}

// Learn says where a key is active, according to another member or a home. A
// location is kept if its owner is in the topology, and if its epoch is greater than that
// of the one known before. An epoch greater than that of an activation here
// means that the activation is lost. If the owner is Self or the key invalid, nothing changes.
func (c *Coordinator) Learn(key placement.Key, h placement.Holder, now time.Time) Outcome {
	c.beginCall(now)
	if c.refusal() == nil && key.Validate() == nil && h.Owner != c.o.Self {
		c.learnPlace(key, h)
	}
	return c.out
}

func (c *Coordinator) learnPlace(key placement.Key, h placement.Holder) {
	if n := c.active.Get(key); n != nil {
		if h.Epoch > n.Value.epoch {
			c.loseEpoch(key, n.Value.epoch, fmt.Sprintf("%s has epoch %d", h.Owner, h.Epoch))
		} else {
			return
		}
	}
	if !c.view.isAlive(h.Owner) {
		return
	}
	n := c.places.Get(key)
	switch {
	case n == nil:
		key = placement.Key{Kind: strings.Clone(key.Kind), ID: strings.Clone(key.ID)} // the caller's may be part of a large message
		c.setPlace(key, h)
		c.cacheEvent(CacheAdded, c.places.Get(key), "")
	case c.isNewer(h, n.Value):
		n.Value = h
		c.places.Touch(n)
		c.cacheEvent(CacheReplaced, n, "")
	}
}

// isNewer reports whether a holder replaces another one as the place of a key.
func (c *Coordinator) isNewer(h, than placement.Holder) bool {
	return h.Epoch > than.Epoch || h.Epoch == than.Epoch && than.Owner != c.o.Self && !c.view.isAlive(than.Owner)
}

// Forget says that a key is not active at a holder under an epoch. It drops the location,
// if that is still the known one.
//
// If the owner is Self, another member has sent a message for the key here, because a home or a
// cache named this member, but the key does not resolve to this member. A home may then have a
// claim or an entry that this member does not know, for example of a claim that was executed late
// after its reply was lost. The coordinator gives back what the home has under that epoch;
// otherwise no member could activate the key while this one lives.
func (c *Coordinator) Forget(key placement.Key, h placement.Holder, now time.Time) Outcome {
	c.beginCall(now)
	if h.Owner == c.o.Self {
		c.giveBackUnknown(key, h.Epoch)
		return c.out
	}
	n := c.places.Get(key)
	if n != nil && n.Value.Owner == h.Owner && n.Value.Epoch == h.Epoch {
		c.evictPlace(n, "it is wrong")
	}
	return c.out
}

// giveBackUnknown gives back what a home may have for a key under an epoch, if nothing
// here has the key. A work that waits for its next attempt is tried now.
func (c *Coordinator) giveBackUnknown(key placement.Key, epoch int64) {
	w := c.workOfKey(key)
	switch {
	case c.state != placement.StateMember || c.active.Get(key) != nil || epoch < 1 || key.Validate() != nil:
	case w != nil && w.retryAt != 0:
		c.retryStep(w)
	case w == nil && len(c.byKey) < c.o.MaxRequests:
		w = c.beginWork(placement.Key{Kind: strings.Clone(key.Kind), ID: strings.Clone(key.ID)}, c.nextID())
		w.lease, w.stored = Lease{Key: w.key, Owner: c.o.Self, Epoch: epoch}, true
		c.emit(placement.Event{Kind: placement.GivenBack, Key: key, Owner: c.o.Self, Epoch: epoch, Request: w.id, Reason: "nothing here has it"})
		c.commandRelease(w)
	}
}

// setPlace sets the place of a key that has none.
func (c *Coordinator) setPlace(key placement.Key, h placement.Holder) {
	if c.places.Len() >= c.o.CacheSize {
		c.evictPlace(c.places.Oldest(), "the cache is full")
	}
	c.places.Add(&recency.Node[placement.Key, placement.Holder]{Key: key, Value: h})
}

func (c *Coordinator) evictPlace(n *recency.Node[placement.Key, placement.Holder], reason string) {
	c.places.Remove(n)
	c.cacheEvent(CacheEvicted, n, reason)
}

// cacheEvent adds an event about a location. The epochs of this member are not locations.
func (c *Coordinator) cacheEvent(kind CacheEventKind, n *recency.Node[placement.Key, placement.Holder], reason string) {
	if n.Value.Owner != c.o.Self {
		c.out.CacheEvents = append(c.out.CacheEvents, CacheEvent{Kind: kind, Key: n.Key, Holder: n.Value, Reason: reason, ObservedAt: c.now})
	}
}

// noteEpoch keeps the epoch under which this member had a key.
func (c *Coordinator) noteEpoch(key placement.Key, epoch int64) {
	n := c.places.Get(key)
	h := placement.Holder{Owner: c.o.Self, Epoch: epoch}
	switch {
	case n == nil:
		c.setPlace(key, h)
	case n.Value.Epoch < epoch:
		c.cacheEvent(CacheEvicted, n, "a newer activation was here")
		n.Value = h
		c.places.Touch(n)
	}
}

// isSpent reports whether this member had a key under an epoch, or a greater one.
func (c *Coordinator) isSpent(key placement.Key, epoch int64) bool {
	n := c.places.Get(key)
	return n != nil && n.Value.Owner == c.o.Self && n.Value.Epoch >= epoch
}
