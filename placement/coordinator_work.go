// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// beginWork makes a work that its key waits for.
func (c *Coordinator) beginWork(key Key, id RequestID) *work {
	w := &work{id: id, key: key, keyed: true}
	c.works.Add(&recency.Node[RequestID, *work]{Key: id, Value: w})
	c.byKey[key] = w
	return w
}

// beginRequest begins to activate a key, for resolves that wait.
func (c *Coordinator) beginRequest(key Key, waiting wait) {
	w := c.beginWork(c.cloneKey(key), waiting.id)
	w.request = true
	c.requests++
	c.addWaiters(w, waiting)
	c.emit(Event{Kind: Requested, Key: w.key, Owner: c.o.Self, Request: waiting.id, Reason: "acquire"})
	c.commandAcquire(w)
}

// cloneKey copies the key, because the caller's strings may be parts of a large
// message. Kinds are shared.
func (c *Coordinator) cloneKey(key Key) Key {
	i := slices.Index(c.kinds, key.Kind)
	return Key{Kind: c.kinds[i], ID: strings.Clone(key.ID)}
}

// beginOrphan makes a work that its key does not wait for.
func (c *Coordinator) beginOrphan(key Key) *work {
	w := &work{id: c.nextID(), key: key}
	c.works.Add(&recency.Node[RequestID, *work]{Key: w.id, Value: w})
	return w
}

// detachWork makes a work an orphan: its key does not wait for it any more.
func (c *Coordinator) detachWork(w *work) {
	if w.keyed {
		w.keyed = false
		delete(c.byKey, w.key)
	}
}

// finishWork ends a work that holds nothing any more. Resolves that joined it meanwhile
// start over.
func (c *Coordinator) finishWork(w *work) {
	c.works.Remove(c.works.Get(w.id))
	c.detachWork(w)
	if w.request {
		c.requests--
	}
	if w.wait.id != 0 {
		c.restartWaiters(w.key, w.wait)
	}
	if w.unsettled {
		c.settleClaim(w.key)
	}
	if c.state == StateStopped && c.dead == "" {
		c.endSome()
	}
}

// restartWaiters starts over for resolves that waited for a work that has ended.
func (c *Coordinator) restartWaiters(key Key, waiting wait) {
	w := &work{key: key, wait: waiting}
	if waiting.count == 0 {
		c.answerWaiters(w, Resolution{}, &PendingError{Key: key, Request: waiting.id})
		return
	}
	r, _, err := c.resolveElsewhere(key)
	if err != nil || r.Locality == Remote {
		c.answerWaiters(w, r, err)
		return
	}
	c.beginRequest(key, waiting)
}

// workOfKey returns the work that the key waits for, nil if there is none.
func (c *Coordinator) workOfKey(key Key) *work { return c.byKey[key] }

// workByID returns the work of a request id, nil if it has ended.
func (c *Coordinator) workByID(id RequestID) *work {
	if n := c.works.Get(id); n != nil {
		return n.Value
	}
	return nil
}

// Held returns how many activations, requests and leases the coordinator has
// or gives back. A coordinator that is stopped and holds nothing is done.
func (c *Coordinator) Held() int { return c.active.Len() + c.works.Len() }

// answerWaiters answers the resolves that wait for a work, if there are any.
func (c *Coordinator) answerWaiters(w *work, r Resolution, err error) {
	if w.wait.id == 0 {
		return
	}
	a := Answer{Request: w.wait.id, Key: w.key, Err: err}
	if err == nil {
		a.Resolution = r
		c.emitResolved(&r, w.wait.id, "")
	} else {
		c.emit(Event{Kind: Refused, Key: w.key, Request: w.wait.id, Reason: err.Error()})
	}
	c.out.Answers = append(c.out.Answers, a)
	delete(c.waits, w.wait.id)
	w.wait = wait{}
}

func (c *Coordinator) emitResolved(r *Resolution, id RequestID, reason string) {
	c.out.Events = append(c.out.Events, Event{
		Kind: Resolved, Key: r.Decision.Key, Owner: r.Owner, Epoch: r.Epoch, PID: r.PID, Request: id,
		Topology: r.Decision.Topology, Reason: reason, ObservedAt: c.now,
	})
}
