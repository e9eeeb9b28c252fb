// SPDX-License-Identifier: Apache-2.0

package idconfig

import "github.com/kazahana-db/kazahana/idbuilder/format"

// Succeed copies from old, which c replaces, the formats that the key has had, also while it
// was of another type: later changes are compared with them. Otherwise a change to another
// format and a second change back to one like the first could both be allowed, and repeat
// the IDs of the first. Succeed also sets the epoch of an increment configuration, and copies
// the members of the document that this program does not know.
func (c *Config) Succeed(old *Config) {
	c.Unknown = old.Unknown
	switch {
	case c.Formatted != nil:
		f := *c.Formatted
		f.Earlier = distinct(old.allFormats(), f.Parts)
		c.Formatted = &f
	case len(old.allFormats()) > 0:
		c.Formats = distinct(old.allFormats(), nil)
	}
	if c.Increment != nil {
		i := *c.Increment
		i.Epoch = i.epochAfter(old)
		c.Increment = &i
	}
}

// CheckChange returns a [*ChangeError] if IDs of the configuration next could
// equal IDs that the configuration old, of the same key, or one before it, has given. Old may be
// deleted. In doubt it refuses. For an increment sequence the caller compares the base with the
// value: see [Increment.Rewinds]. For a snowflake key it refuses any change of the layout, since
// the IDs depend on its clients.
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

// allFormats returns the present and the earlier formats of a configuration.
func (c *Config) allFormats() [][]format.Part {
	if c.Formatted == nil {
		return c.Formats
	}
	return c.Formatted.allFormats()
}
