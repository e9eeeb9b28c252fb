// SPDX-License-Identifier: Apache-2.0

package embedded

// persist makes the batch's changes durable. If the disk fails, what the batch
// has done to the window is never published, and nothing is committed after it.
func (c *committer) persist(version int64) bool {
	if c.log == nil {
		return true
	}
	err := c.log.append(version, c.changes)
	if err == nil {
		return true
	}
	err = unknownOutcome(c.fault.raise("committing", err))
	for i := range c.results {
		if c.results[i].err == nil {
			c.results[i].err = err
		}
	}
	return false
}

// learn tells the window what the base says of the keys that r's atomic
// operations need and the window does not know. The operations overwrite it.
func (c *committer) learn(r *commitRequest) error {
	if c.base == nil {
		return nil
	}
	for i := range r.mutations {
		m := &r.mutations[i]
		if !m.needsValue() {
			continue
		}
		if _, k := lookUp(&c.window.entries, m.key); k != unknown {
			continue
		}
		value, err := c.base.get(m.key)
		if err != nil {
			return err
		}
		c.window.learn(m.key, value)
	}
	return nil
}

// needsValue reports whether what the mutation comes to depends on the value
// before it.
func (m *mutation) needsValue() bool {
	return !operation{op: m.op}.independent() && m.op != opClearRange
}

// learn notes the base's value of a key, nil if it has none, as older than any
// write.
func (w *window) learn(key, value []byte) {
	e := w.behind(key)
	e.point, e.value, e.version = present, value, 0
	if value == nil {
		e.point = absent
	}
	w.entries.set(key, e)
}

// forget drops from the window, in the stretches, what the base has absorbed up
// to version.
func (c *committer) forget(within []stretchOf, version int64) {
	c.working.Lock()
	defer c.working.Unlock()
	if c.fault.get() != nil {
		return // the window may hold a commit that did not happen
	}
	c.window.forget(within, version)
	c.head.replace(c.window.entries.snapshot())
}

// cut takes what is to be absorbed next out of the window's journal.
func (c *committer) cut(horizon int64) (groups []journalGroup, more bool) {
	c.working.Lock()
	defer c.working.Unlock()
	return c.window.journal.cut(horizon, absorbRoundKeys)
}

// forgetReads lets the resolver forget what it knew for transactions that read
// below floor: there are none but those that wait for their commit.
func (c *committer) forgetReads(floor int64) {
	c.working.Lock()
	defer c.working.Unlock()
	c.queue.Lock()
	for _, r := range c.queue.requests {
		floor = min(floor, r.version)
	}
	c.queue.Unlock()
	c.floor = max(c.floor, floor)
	c.resolver.sweep(c.floor, absorbStepEntries)
}
