// SPDX-License-Identifier: Apache-2.0

package idconfig

// epochAfter returns the epoch of a configuration that replaces old: that of old, unless the
// sequence may have moved back since.
func (c *Increment) epochAfter(old *Config) int64 {
	before := old.Increment
	if before == nil || c.namesOtherStart(before) || (c.Delta < 0) != (before.Delta < 0) {
		return old.Version // greater than all epochs before
	}
	return before.Epoch
}

// Rewinds reports whether the request moves the sequence to its base, and that is
// before a value that the sequence has reached.
func (c *Increment) Rewinds(old *Increment, value int64) bool {
	return c.namesOtherStart(old) && c.comesBefore(c.Base, value)
}

// Advances reports whether the request moves the sequence ahead, to its base.
func (c *Increment) Advances(old *Increment, value int64) bool {
	return c.namesOtherStart(old) && c.comesBefore(value, c.Base)
}

// namesOtherStart reports whether the request names another start than old. A request that
// changes only the delta repeats the base in the specification's dialect, and the first ID in
// the deployed worker's.
func (c *Increment) namesOtherStart(old *Increment) bool {
	return c.Base != old.Base && c.Start() != old.Start()
}

// comesBefore reports whether a comes before b in the direction of the sequence.
func (c *Increment) comesBefore(a, b int64) bool {
	if c.Delta < 0 {
		return a > b
	}
	return a < b
}
