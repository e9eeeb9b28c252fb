// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// The places of keys are a cache, bounded by Options.CacheSize. It has the locations of
// activations of other members, and the epochs of activations of this member that have
// ended. The coordinator does not believe a location of an epoch older than that.

// location returns where another member that is alive has a key.
func (c *Coordinator) location(key Key) (Holder, bool) {
	n := c.places.Get(key)
	if n == nil || n.Value.Owner == c.o.Self {
		return Holder{}, false
	}
	if !c.view.isAlive(n.Value.Owner) {
		c.evictPlace(n, "its owner is not in the topology")
		return Holder{}, false
	}
	c.places.Touch(n)
	c.cacheEvent(CacheHit, n, "")
	return n.Value, true
}

// Learn says where a key is active, according to another member or a home. A
// location is kept if its owner is in the topology, and if its epoch is greater than that
// of the one known before. An epoch greater than that of an activation here
// means that the activation is lost. If the owner is Self or the key invalid, nothing changes.
func (c *Coordinator) Learn(key Key, h Holder, now time.Time) Outcome {
	c.beginCall(now)
	if c.refusal() == nil && key.Validate() == nil && h.Owner != c.o.Self {
		c.learnPlace(key, h)
	}
	return c.out
}

func (c *Coordinator) learnPlace(key Key, h Holder) {
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
		key = Key{Kind: strings.Clone(key.Kind), ID: strings.Clone(key.ID)} // the caller's may be part of a large message
		c.setPlace(key, h)
		c.cacheEvent(CacheAdded, c.places.Get(key), "")
	case c.isNewer(h, n.Value):
		n.Value = h
		c.places.Touch(n)
		c.cacheEvent(CacheReplaced, n, "")
	}
}

// isNewer reports whether a holder replaces another one as the place of a key.
func (c *Coordinator) isNewer(h, than Holder) bool {
	return h.Epoch > than.Epoch || h.Epoch == than.Epoch && than.Owner != c.o.Self && !c.view.isAlive(than.Owner)
}

// Forget says that a key is not active at a holder under an epoch. It drops the location,
// if that is still the known one.
//
// If the owner is Self, another member has sent a message for the key here, because a home or a
// cache named this member, but the key does not resolve to this member. A home may then have a
// claim or an entry that this member does not know, for example of a claim that was executed late
// and whose reply was lost. The coordinator gives back what the home has under that epoch;
// otherwise no member could activate the key while this one lives.
func (c *Coordinator) Forget(key Key, h Holder, now time.Time) Outcome {
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
func (c *Coordinator) giveBackUnknown(key Key, epoch int64) {
	w := c.workOfKey(key)
	switch {
	case c.state != StateMember || c.active.Get(key) != nil || epoch < 1 || key.Validate() != nil:
	case w != nil && w.retryAt != 0:
		c.retryStep(w)
	case w == nil && len(c.byKey) < c.o.MaxRequests:
		w = c.beginWork(Key{Kind: strings.Clone(key.Kind), ID: strings.Clone(key.ID)}, c.nextID())
		w.lease, w.stored = Lease{Key: w.key, Owner: c.o.Self, Epoch: epoch}, true
		c.emit(Event{Kind: GivenBack, Key: key, Owner: c.o.Self, Epoch: epoch, Request: w.id, Reason: "nothing here has it"})
		c.commandRelease(w)
	}
}

// setPlace sets the place of a key that has none.
func (c *Coordinator) setPlace(key Key, h Holder) {
	if c.places.Len() >= c.o.CacheSize {
		c.evictPlace(c.places.Oldest(), "the cache is full")
	}
	c.places.Add(&recency.Node[Key, Holder]{Key: key, Value: h})
}

func (c *Coordinator) evictPlace(n *recency.Node[Key, Holder], reason string) {
	c.places.Remove(n)
	c.cacheEvent(CacheEvicted, n, reason)
}

// cacheEvent adds an event about a location. The epochs of this member are no locations.
func (c *Coordinator) cacheEvent(kind CacheEventKind, n *recency.Node[Key, Holder], reason string) {
	if n.Value.Owner != c.o.Self {
		c.out.CacheEvents = append(c.out.CacheEvents, CacheEvent{Kind: kind, Key: n.Key, Holder: n.Value, Reason: reason, ObservedAt: c.now})
	}
}

// noteEpoch keeps the epoch under which this member had a key.
func (c *Coordinator) noteEpoch(key Key, epoch int64) {
	n := c.places.Get(key)
	h := Holder{Owner: c.o.Self, Epoch: epoch}
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
func (c *Coordinator) isSpent(key Key, epoch int64) bool {
	n := c.places.Get(key)
	return n != nil && n.Value.Owner == c.o.Self && n.Value.Epoch >= epoch
}
