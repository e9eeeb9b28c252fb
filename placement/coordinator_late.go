// SPDX-License-Identifier: Apache-2.0

package placement

import "fmt"

// This file handles results that come late or twice. Their lease, activation or entry is
// given back, unless the key has that one now. A member that others take for dead gives
// nothing back to a home, which knows of its death, but its activations end.

// hasEpoch reports whether an epoch is that of the activation in use, of the work that
// the result is for, or of the work that the key waits for.
func (c *Coordinator) hasEpoch(w *work, key Key, epoch int64) bool {
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

// settleClaim ends a claim of unknown outcome whose request has ended: it claims the key
// again and gives that lease back. A newer claim of the key has ended it already.
func (c *Coordinator) settleClaim(key Key) {
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
	o.sure, o.cause = true, CauseFailed
	c.commandDeactivate(o)
}

// ends reports whether a work knows of the activation of an epoch, and will use or end
// it. A work whose executor has failed may be ending it too early.
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
func (c *Coordinator) startOrphan(key Key, lease Lease, reason string) *work {
	o := c.beginOrphan(key)
	o.lease, o.single = lease, true
	c.emit(Event{Kind: GivenBack, Key: key, Owner: c.o.Self, Epoch: lease.Epoch, Request: o.id, Reason: reason})
	return o
}
