// SPDX-License-Identifier: Apache-2.0

package placement

import "fmt"

// Results that come late or twice. What they carry is given back, unless it is
// what the key has now. Of a member that others take for dead nothing is given
// back to a home, which knows; but its activations end.

// hasEpoch reports whether the activation in use, or the work that the key or the
// result belongs to, is of an epoch.
func (c *Coordinator) hasEpoch(w *work, key Key, epoch int64) bool {
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		return true
	}
	keyed := c.workOfKey(key)
	return w != nil && w.lease.Epoch == epoch || keyed != nil && keyed.lease.Epoch == epoch
}

// returnLease gives back a lease that no request waits for. If it is kept, and
// newer than the one of the activation in use, it has ended that. One that is not
// kept has ended nothing: the entry keeps others from the key.
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

// settleClaim finds out what became of a claim whose request has ended, by another
// claim, whose lease is given back. If the key has a newer claim, that has ended it.
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

// ends reports whether a work knows of the activation of an epoch, and will use
// or end it. One whose executor has failed may be ending it too early.
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
