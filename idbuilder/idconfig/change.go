// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"slices"

	"github.com/kazahana-db/kazahana/idbuilder/format"
)

// CheckChange returns a [*ChangeError] if IDs of the configuration next could
// equal IDs that the configuration old, of the same key, has given. Old may be
// deleted. What an increment sequence has given is for the caller to compare:
// see [Increment.Rewinds]. What a snowflake key has given depends on its clients; any
// change of its layout is refused.
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

// Rewinds reports whether the base is one that the request moves the sequence to, and that is
// before a value that the sequence has reached.
func (c *Increment) Rewinds(old *Increment, value int64) bool {
	return c.Base != old.Base && c.before(c.Base, value)
}

// Advances reports whether the request moves the sequence ahead, to its base.
func (c *Increment) Advances(old *Increment, value int64) bool {
	return c.Base != old.Base && c.before(value, c.Base)
}

// before reports whether a comes before b in the direction of the sequence.
func (c *Increment) before(a, b int64) bool {
	if c.Delta < 0 {
		return a > b
	}
	return a < b
}

// checkFormats allows a change if the IDs of the two formats differ in length, in
// the text that they begin with, or, since no number comes twice, in their numbers.
func checkFormats(old, next *Formatted) error {
	switch {
	case slices.Equal(old.Parts, next.Parts), differInPrefix(old.Parts, next.Parts), differInNumbers(old, next):
		return nil
	}
	return &ChangeError{"parts", "the new IDs could equal IDs that the old format gave: they neither begin with another text nor go on with the same numbers"}
}

// differInPrefix reports whether both begin with a text, and neither text begins
// with the other.
func differInPrefix(a, b []format.Part) bool {
	x, y := prefix(a), prefix(b)
	n := min(len(x), len(y))
	return x[:n] != y[:n]
}

func prefix(parts []format.Part) (text string) {
	for _, p := range parts {
		if p.Type != format.FixedChars {
			break
		}
		text += p.Value
	}
	return text
}

// differInNumbers reports whether the formats have the same parts and one number that
// goes on, shown in the same base, and differ at most in how it is padded with zeros.
func differInNumbers(old, next *Formatted) bool {
	a, b := old.Format.Counters(), next.Format.Counters()
	if len(a) != 1 || len(b) != 1 || len(old.Parts) != len(next.Parts) || a[0].Reset != b[0].Reset || a[0].Zone.String() != b[0].Zone.String() {
		return false
	}
	for i, p := range old.Parts {
		q := next.Parts[i]
		if p.Type == format.AutoIncrement && zeroPadded(p) && zeroPadded(q) {
			p.Length, p.LengthFixed = q.Length, q.LengthFixed
		}
		if p != q || p.Type == format.Timestamp || p.Type == format.UnixSeconds {
			return false
		}
	}
	return true
}

// zeroPadded reports whether what the part shows, read as a number, is the number.
func zeroPadded(p format.Part) bool {
	return p.PaddingMode != "suffix" && (p.PaddingChar == "" || p.PaddingChar == "0")
}
