// SPDX-License-Identifier: Apache-2.0

package idconfig

import "github.com/kazahana-db/kazahana/idbuilder/format"

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

// formats returns the formats that a configuration has and had.
func (c *Config) formats() [][]format.Part {
	if c.Formatted == nil {
		return c.Formats
	}
	return c.Formatted.formats()
}
