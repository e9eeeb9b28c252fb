// SPDX-License-Identifier: Apache-2.0

package idconfig

// CheckChange returns a [*ChangeError] if IDs of the configuration next could
// equal IDs that the configuration old, of the same key, or one before it, has given. Old may be
// deleted. It errs on the side of refusing. What an increment sequence has given is for the caller
// to compare: see [Increment.Rewinds]. What a snowflake key has given depends on its clients; any
// change of its layout is refused.
//
// A caller that makes the change, forced or not, calls next.Succeed(old) before it
// stores next.
func CheckChange(old, next *Config) error {
	switch {
	case old.Type != next.Type:
		return &ChangeError{"id_type", "the key has made " + string(old.Type) + " IDs; use another key for " + string(next.Type) + " IDs"}
	case old.Type == TypeIncrement && (old.Increment.Delta < 0) != (next.Increment.Delta < 0):
		return &ChangeError{"delta", "the direction of the sequence would turn, and pass the IDs that it gave"}
	case old.Type == TypeSnowflake && *old.Snowflake != *next.Snowflake:
		return &ChangeError{"base_ts", "clients make IDs with the layout as it is; another one could make them again"}
	case old.Type == TypeFormatted:
		return checkFormats(old.Formatted, next.Formatted)
	}
	return nil
}

// Succeed takes over from the configuration old, which c replaces, what later
// changes are to be compared with: the formats that the key has had, also while it was of
// another type. Without it, a change to another format and a second change back to one
// like the first could be allowed one by one, and give the IDs of the first again. Of an
// increment configuration it sets the epoch.
func (c *Config) Succeed(old *Config) {
	switch {
	case c.Formatted != nil:
		f := *c.Formatted
		f.Earlier = distinct(old.formats(), f.Parts)
		c.Formatted = &f
	case len(old.formats()) > 0:
		c.Formats = distinct(old.formats(), nil)
	}
	if c.Increment != nil {
		i := *c.Increment
		i.Epoch = i.epoch(old)
		c.Increment = &i
	}
}

// epoch returns the epoch of a configuration that replaces old: that of old, unless the
// sequence may have been moved back since.
func (c *Increment) epoch(old *Config) int64 {
	before := old.Increment
	if before == nil || c.moves(before) || (c.Delta < 0) != (before.Delta < 0) {
		return old.Version // greater than all epochs before
	}
	return before.Epoch
}

// Rewinds reports whether the request moves the sequence to its base, and that is
// before a value that the sequence has reached.
func (c *Increment) Rewinds(old *Increment, value int64) bool {
	return c.moves(old) && c.before(c.Base, value)
}

// Advances reports whether the request moves the sequence ahead, to its base.
func (c *Increment) Advances(old *Increment, value int64) bool {
	return c.moves(old) && c.before(value, c.Base)
}

// moves reports whether the request names another place to begin than old did. A
// request that changes the delta alone repeats the base in the specification's
// dialect, the first ID in the deployed worker's.
func (c *Increment) moves(old *Increment) bool {
	return c.Base != old.Base && c.Start() != old.Start()
}

// before reports whether a comes before b in the direction of the sequence.
func (c *Increment) before(a, b int64) bool {
	if c.Delta < 0 {
		return a > b
	}
	return a < b
}
