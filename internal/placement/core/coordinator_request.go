// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/recency"
	"github.com/kazahana-db/kazahana/placement"
)

// beginWork makes a work that its key waits for.
func (c *Coordinator) beginWork(key placement.Key, id placement.RequestID) *work {
	w := &work{id: id, key: key, keyed: true}
	c.works.Add(&recency.Node[placement.RequestID, *work]{Key: id, Value: w})
	c.byKey[key] = w
	return w
}

// beginRequest begins to activate a key, for resolves that wait.
func (c *Coordinator) beginRequest(key placement.Key, waiting wait) {
	w := c.beginWork(c.cloneKey(key), waiting.id)
	w.request = true
	c.requests++
	c.addWaiters(w, waiting)
	c.emit(placement.Event{Kind: placement.Requested, Key: w.key, Owner: c.o.Self, Request: waiting.id, Reason: "acquire"})
	c.commandAcquire(w)
}

// cloneKey copies the key, because the caller's strings may be parts of a large
// message. Kinds are shared.
func (c *Coordinator) cloneKey(key placement.Key) placement.Key {
	i := slices.Index(c.kinds, key.Kind)
	return placement.Key{Kind: c.kinds[i], ID: strings.Clone(key.ID)}
}

// beginOrphan makes a work that its key does not wait for.
func (c *Coordinator) beginOrphan(key placement.Key) *work {
	w := &work{id: c.nextID(), key: key}
	c.works.Add(&recency.Node[placement.RequestID, *work]{Key: w.id, Value: w})
	return w
}

// detachWork makes a work an orphan: its key does not wait for it any more.
func (c *Coordinator) detachWork(w *work) {
	if w.keyed {
		w.keyed = false
		delete(c.byKey, w.key)
	}
}

// finishWork ends a work that holds nothing any more. Resolves that have joined it
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
	if c.state == placement.StateStopped && c.dead == "" {
		c.endSome()
	}
}

// restartWaiters starts over for resolves that waited for a work that has ended.
func (c *Coordinator) restartWaiters(key placement.Key, waiting wait) {
	w := &work{key: key, wait: waiting}
	if waiting.count == 0 {
		c.answerWaiters(w, Resolution{}, pendingError(key, waiting.id))
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
func (c *Coordinator) workOfKey(key placement.Key) *work { return c.byKey[key] }

// workByID returns the work of a request id, nil if it has ended.
func (c *Coordinator) workByID(id placement.RequestID) *work {
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
		c.emit(placement.Event{Kind: placement.Refused, Key: w.key, Request: w.wait.id, Reason: err.Error()})
	}
	c.out.Answers = append(c.out.Answers, a)
	delete(c.waits, w.wait.id)
	w.wait = wait{}
}

func (c *Coordinator) emitResolved(r *Resolution, id placement.RequestID, reason string) {
	c.out.Events = append(c.out.Events, placement.Event{
		Kind: placement.Resolved, Key: r.Decision.Key, Owner: r.Owner, Epoch: r.Epoch, PID: r.PID, Request: id,
		Topology: r.Decision.Topology, Reason: reason, ObservedAt: c.now,
	})
}

// HandleCommandResult tells what became of a command. A result that comes late,
// twice or for a request that is not known is not an error: what it carries is given back.
// The error is for a result that is nil, or for another key than its command.
func (c *Coordinator) HandleCommandResult(r CommandResult, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if r == nil {
		return c.out, errors.New("placement: the result of a command is nil")
	}
	id, key := r.Correlation()
	w := c.workByID(id)
	if w != nil && w.key != key {
		return c.out, fmt.Errorf("placement: the result %T of request %d is for %s; the request is for %s", r, id, key, w.key)
	}
	switch r := r.(type) {
	case LockAcquired:
		c.handleAcquired(w, r)
	case ActivationLoaded:
		c.handleLoaded(w, r)
	case ActivationEnsured:
		c.handleEnsured(w, r)
	case ActivationStored:
		c.handleStored(w, r)
	case LockReleased:
		c.handleReleased(w, r)
	case ActivationDeactivated:
		c.handleDeactivated(w, r)
	case ActivationRemoved:
		c.handleRemoved(w, r)
	}
	return c.out, nil
}

// in reports whether a work waits for the result of a step.
func in(w *work, s step) bool { return w != nil && w.step == s }

// commandAcquire claims the key. A claim that is repeated under its id is the same claim.
func (c *Coordinator) commandAcquire(w *work) {
	w.step, w.retryAt = acquiring, 0
	w.generation, w.topology = c.generation, c.view.version
	c.addCommand(TryAcquire{RequestID: w.id, Key: w.key, Owner: c.o.Self, Address: c.o.Address, Topology: w.topology, Now: c.now})
}

func (c *Coordinator) handleAcquired(w *work, r LockAcquired) {
	switch {
	case r.Err == nil && !in(w, acquiring):
		c.returnLease(w, r)
	case r.Err == nil:
		c.handleGranted(w, r.Lease)
	case in(w, acquiring) && w.retryAt == 0:
		c.handleDenied(w, r.Err)
	case isDenial(r.Err) || in(w, acquiring): // of an earlier claim of the request: it says nothing about the last claim
	case w != nil:
		w.unsettled = true
	default:
		c.settleClaim(r.Key)
	}
}

// isDenial reports whether it is certain that a claim was not granted.
func isDenial(err error) bool { return isOneOf(err, placement.ErrHeld, placement.ErrStale) }

// handleGranted continues a request after its claim was granted.
func (c *Coordinator) handleGranted(w *work, lease Lease) {
	w.unsettled = w.unsettled || w.retryAt != 0 // the grant is of a claim before the last
	w.lease, w.retryAt, w.failures = lease, 0, 0
	c.emit(placement.Event{Kind: placement.Acquired, Key: w.key, Owner: c.o.Self, Epoch: lease.Epoch, Request: w.id})
	switch {
	case lease.Key != w.key || lease.Owner != c.o.Self || lease.Epoch < 1 || c.isSpent(w.key, lease.Epoch):
		c.failRequest(w, &LockError{Key: w.key, Err: fmt.Errorf("%w: the lock was granted to %s for %s under epoch %d", placement.ErrStale, lease.Owner, lease.Key, lease.Epoch)})
	case !c.confirmRequest(w):
	case lease.Loaded:
		c.decideOn(w, lease.Entry)
	default:
		w.step = loading
		c.addCommand(LoadActivation{RequestID: w.id, Key: w.key, Epoch: lease.Epoch})
	}
}

// confirmRequest reports whether a request goes on: resolves wait for it, its lease has
// not lapsed, and the key belongs here by the view in force. Otherwise it ends the request.
func (c *Coordinator) confirmRequest(w *work) bool {
	switch {
	case w.wait.id == 0:
		c.emit(placement.Event{Kind: placement.GivenBack, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: "no resolve waits any more"})
		c.giveBack(w)
		return false
	case w.lost || !w.lease.ExpiresAt.IsZero() && !c.now.Before(w.lease.ExpiresAt):
		c.failRequest(w, &LockError{Key: w.key, Err: fmt.Errorf("%w: epoch %d", placement.ErrStale, w.lease.Epoch)})
		return false
	case w.generation != c.generation:
		return c.decideAnew(w)
	}
	return true
}

// decideAnew decides whether a request that began under an older view goes on.
func (c *Coordinator) decideAnew(w *work) bool {
	d, err := c.decideHeld(w.key)
	if err == nil && d.Authority == c.o.Self {
		w.generation, w.topology = c.generation, c.view.version
		return true
	}
	if err != nil {
		c.failRequest(w, err)
		return false
	}
	c.emit(placement.Event{Kind: placement.Moved, Key: w.key, Owner: d.Authority, Epoch: w.lease.Epoch, Request: w.id, Reason: "the topology has changed"})
	c.redirectRequest(w, d, placement.Holder{Owner: d.Authority, Address: d.Address})
	return false
}

// handleDenied ends a request after its claim was refused or failed. If the outcome is uncertain,
// the work stays and repeats the claim in ticks, until it can give the lease back.
func (c *Coordinator) handleDenied(w *work, err error) {
	c.emit(placement.Event{Kind: placement.LockDenied, Key: w.key, Owner: holderOf(err).Owner, Request: w.id, Reason: err.Error()})
	h := holderOf(err)
	c.answerDenied(w, h, err)
	if isDenial(err) || c.dead != "" {
		c.finishWork(w)
		return
	}
	c.retryLater(w)
}

// answerDenied answers with the holder that the home named, unless it is dead or
// is this member, which has no activation of the key.
func (c *Coordinator) answerDenied(w *work, h placement.Holder, err error) {
	if w.wait.id == 0 {
		return
	}
	if h.Owner.IsZero() || h.Owner == c.o.Self || !errors.Is(err, placement.ErrHeld) || c.view.liveness(h.Owner, 0) == dead {
		c.answerWaiters(w, Resolution{}, lockError(w.key, err))
		return
	}
	c.learnPlace(w.key, h)
	d, _ := c.decideAuthority(w.key)
	c.answerWaiters(w, c.remoteResolution(d, h), nil)
}

func holderOf(err error) placement.Holder {
	var typed *LockError
	if errors.As(err, &typed) {
		return typed.Holder
	}
	return placement.Holder{}
}

func (c *Coordinator) handleLoaded(w *work, r ActivationLoaded) {
	switch {
	case !in(w, loading):
	case r.Err != nil:
		c.emit(placement.Event{Kind: placement.StorageFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.failRequest(w, storageError(w.key, "load", r.Err))
	case c.confirmRequest(w):
		c.decideOn(w, r.Entry)
	}
}

// decideOn continues a granted request, given the entry that the storage has for the key.
func (c *Coordinator) decideOn(w *work, e *ActivationEntry) {
	if e == nil {
		c.commandEnsure(w)
		return
	}
	if e.Epoch >= w.lease.Epoch {
		c.failRequest(w, &StorageError{Key: w.key, Op: "load", Err: fmt.Errorf("%w: %s stored under epoch %d", placement.ErrStale, e.Owner, e.Epoch)})
		return
	}
	if e.Owner != c.o.Self && !w.lease.Kept && !c.checkSuperseded(w, e) {
		return
	}
	w.previous = &e.Record
	c.commandEnsure(w)
}

// checkSuperseded reports whether the owner of an entry is dead, and ends the request if
// not. Where the claim is the activation, the home has checked that already.
func (c *Coordinator) checkSuperseded(w *work, e *ActivationEntry) bool {
	switch c.view.liveness(e.Owner, e.Topology) {
	case alive:
		h := placement.Holder{Owner: e.Owner, Address: e.Address, Epoch: e.Epoch}
		c.learnPlace(w.key, h)
		d, _ := c.decideAuthority(w.key)
		c.redirectRequest(w, d, h)
		return false
	case unknown:
		c.failRequest(w, fmt.Errorf("%w: %s stored it by topology %d", placement.ErrTopologyBehind, e.Owner, e.Topology))
		return false
	}
	return true
}

func (c *Coordinator) commandEnsure(w *work) {
	w.step, w.made = ensuring, true
	c.addCommand(EnsureActivation{RequestID: w.id, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Previous: w.previous})
}

func (c *Coordinator) handleEnsured(w *work, r ActivationEnsured) {
	switch {
	case r.Err == nil && !(in(w, ensuring) && w.lease.Epoch == r.Epoch):
		c.returnActivation(w, r)
	case !in(w, ensuring):
	case r.Err != nil:
		c.emit(placement.Event{Kind: placement.ActivationFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.failRequest(w, activationError(w.key, r.Err))
	default:
		w.record, w.sure = r.Record, true
		if c.confirmRequest(w) {
			c.commandStore(w)
		}
	}
}

func (c *Coordinator) commandStore(w *work) {
	w.step, w.stored = storing, true
	c.addCommand(StoreActivation{RequestID: w.id, Key: w.key, Lease: w.lease, Entry: ActivationEntry{
		Owner: c.o.Self, Address: c.o.Address, Epoch: w.lease.Epoch, Topology: w.topology, Record: w.record, ObservedAt: c.now,
	}})
}

func (c *Coordinator) handleStored(w *work, r ActivationStored) {
	switch {
	case !in(w, storing) || w.lease.Epoch != r.Epoch:
		c.returnEntry(w, r)
	case r.Err != nil:
		c.emit(placement.Event{Kind: placement.StorageFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.failRequest(w, storageError(w.key, "store", r.Err))
	case w.lost:
		c.failRequest(w, &StorageError{Key: w.key, Op: "store", Err: placement.ErrStale})
	case w.wait.id == 0:
		c.confirmRequest(w)
	default:
		c.putInUse(w)
	}
}

// This file handles results that come late or twice. Their lease, activation or entry is
// given back, unless the key has that one now. A member that others take for dead gives
// nothing back to a home, which knows of its death, but its activations end.

// hasEpoch reports whether an epoch is that of the activation in use, of the work that
// the result is for, or of the work that the key waits for.
func (c *Coordinator) hasEpoch(w *work, key placement.Key, epoch int64) bool {
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		return true
	}
	keyed := c.workOfKey(key)
	return w != nil && w.lease.Epoch == epoch || keyed != nil && keyed.lease.Epoch == epoch
}

// returnLease gives back a lease that no request waits for. A kept lease that is newer
// than that of the activation in use has ended that activation. A lease that is not kept
// has ended nothing: the entry keeps others from the key.
func (c *Coordinator) returnLease(w *work, r LockAcquired) {
	if c.dead != "" || c.hasEpoch(w, r.Key, r.Lease.Epoch) {
		return
	}
	if n := c.active.Get(r.Key); r.Lease.Kept && n != nil && n.Value.epoch < r.Lease.Epoch {
		c.loseEpoch(r.Key, n.Value.epoch, fmt.Sprintf("request %d was granted epoch %d late", r.RequestID, r.Lease.Epoch))
	}
	o := c.startOrphan(r.Key, r.Lease, "the lease came late")
	c.commandRelease(o)
}

// settleClaim ends a claim of unknown outcome after its request has ended: it claims the key
// again and gives that lease back. A newer claim of the key has ended it already.
func (c *Coordinator) settleClaim(key placement.Key) {
	if c.dead != "" || c.active.Get(key) != nil || c.workOfKey(key) != nil {
		return
	}
	w := c.beginWork(key, c.nextID())
	w.step = acquiring
	c.retryLater(w)
}

// returnActivation ends an activation that no request waits for.
func (c *Coordinator) returnActivation(w *work, r ActivationEnsured) {
	n := c.active.Get(r.Key)
	if n != nil && n.Value.epoch == r.Epoch || ends(w, r.Epoch) || ends(c.workOfKey(r.Key), r.Epoch) {
		return
	}
	o := c.startOrphan(r.Key, Lease{Key: r.Key, Owner: c.o.Self, Epoch: r.Epoch}, "the activation came late")
	o.sure, o.cause = true, placement.CauseFailed
	c.commandDeactivate(o)
}

// ends reports whether a work knows of the activation of an epoch, and will use or end
// it. If the executor of a work has failed, the work may be ending it too early.
func ends(w *work, epoch int64) bool {
	return w != nil && w.lease.Epoch == epoch && w.sure && (w.step == storing || w.step == deactivating)
}

// returnEntry removes an entry that no request waits for.
func (c *Coordinator) returnEntry(w *work, r ActivationStored) {
	if r.Err != nil || c.dead != "" || c.hasEpoch(w, r.Key, r.Epoch) {
		return
	}
	o := c.startOrphan(r.Key, Lease{Key: r.Key, Owner: c.o.Self, Epoch: r.Epoch}, "the entry was stored late")
	c.commandRemove(o)
}

// startOrphan begins a work of one step.
func (c *Coordinator) startOrphan(key placement.Key, lease Lease, reason string) *work {
	o := c.beginOrphan(key)
	o.lease, o.single = lease, true
	c.emit(placement.Event{Kind: placement.GivenBack, Key: key, Owner: c.o.Self, Epoch: lease.Epoch, Request: o.id, Reason: reason})
	return o
}
