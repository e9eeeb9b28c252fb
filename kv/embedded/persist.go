// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/kv"
)

// persist makes a batch durable.
func (c *committer) persist(b *batch) error {
	if c.log == nil {
		return nil
	}
	if err := c.fault.Get(); err != nil {
		return err // the batch before was not written, or not for certain
	}
	if err := c.log.Append(b.version, b.frame); err != nil {
		return unknownOutcome(c.fault.Raise("committing", err))
	}
	return nil
}

// learn tells the window what the base says of the keys that r's atomic
// operations need and the window does not know. The operations overwrite it.
//
// A value of r's inputs was current at the version of the inputs. The window has
// every later write that it has not forgotten. So where it does not know the key,
// and has forgotten nothing later than that version, the value is still current.
func (c *committer) learn(r *commitRequest) error {
	if len(r.inputs.values) == 0 {
		return nil
	}
	for i := range r.inputs.values {
		in := &r.inputs.values[i]
		if _, k := lookUp(&c.window.entries, in.key); k != unknown {
			continue
		}
		if r.inputs.version < c.forgotten {
			return tooOld(r.inputs.version)
		}
		c.window.learn(in.key, in.value)
	}
	return nil
}

// learn notes the base's value of a key, nil if it has none, as older than any
// write.
func (w *window) learn(key, value []byte) {
	if value == nil {
		w.write(key, absent, nil, 0, false)
		return
	}
	w.write(key, present, value, 0, false)
}

// cut takes what is to be absorbed next out of the window's journal.
func (c *committer) cut(horizon int64) (groups []journalGroup, more bool) {
	c.working.Lock()
	defer c.working.Unlock()
	return c.window.journal.cut(horizon, absorbRoundKeys)
}

// forget drops from the window, in the stretches, what the base has absorbed up
// to version.
func (c *committer) forget(within []stretchOf, version int64) {
	c.working.Lock()
	c.window.forget(within, version)
	c.forgotten, c.stale = version, true
	c.leave()
}

// leave lets the newest view know of what was done outside of a batch, by who
// holds working, which it releases. If a commit is under way, that will.
func (c *committer) leave() {
	if c.stale && c.open == nil && c.finishing.TryLock() {
		c.refresh()
		c.finishing.Unlock()
	}
	c.working.Unlock()
	c.call() // whoever has found a lock held has left it at that
}

// waiting returns how many requests are queued, and how large they are.
func (c *committer) waiting() (requests, bytes int64) {
	c.queue.Lock()
	defer c.queue.Unlock()
	return int64(len(c.queue.requests)), c.queue.bytes
}

// oldestWaiting returns the lowest version that a request which waits for its
// commit has read at, and whether there is one.
func (c *committer) oldestWaiting() (version int64, some bool) {
	c.working.Lock()
	defer c.working.Unlock()
	c.queue.Lock()
	defer c.queue.Unlock()
	version = math.MaxInt64
	for _, requests := range [][]*commitRequest{c.taken[c.next:], c.queue.requests} {
		for _, r := range requests {
			version = min(version, r.ReadVersion)
		}
	}
	return version, version != math.MaxInt64
}

// unknownOutcome is the error of a commit that was being made durable when the
// disk failed.
func unknownOutcome(err error) error {
	return fmt.Errorf("embedded: the commit may or may not be found when the database is opened again: %w: %w", kv.ErrOutcomeUnknown, err)
}
