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

// forget drops from the window, between begin and end, what the base has
// absorbed up to version.
func (c *committer) forget(begin, end []byte, version int64) {
	c.working.Lock()
	defer c.working.Unlock()
	if c.fault.get() != nil {
		return // the window may hold a commit that did not happen
	}
	c.window.forget(begin, end, version)
	c.head.replace(c.window.entries.snapshot())
}
