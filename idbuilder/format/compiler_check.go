// SPDX-License-Identifier: Apache-2.0

package format

// checkUnique refuses a format whose IDs cannot be unique.
func (c *compiler) checkUnique(f *Format) {
	if g := f.Guarantee(); !g.Certain && g.Bits == 0 {
		c.addFault(-1, "", "IDs could not be unique: there is neither an auto-increment part nor one of random characters")
	}
	for i, p := range f.parts {
		if p.kind == AutoIncrement && p.reset != ResetNever && !f.showsPeriod(p, twoDigits) {
			c.addFault(i, "reset_scope", "IDs would repeat: numbers begin anew with each %s, but no part shows the %s in the time zone %s; add a date-format part such as %q", p.reset, p.reset, p.zone, dateFor[p.reset])
		}
	}
	c.checkBorders(f)
}

// checkBorders refuses a format in which two parts of varying length follow each other
// without a text between them that shows where the first ends: two IDs with different
// parts could then be equal.
func (c *compiler) checkBorders(f *Format) {
	last := -1 // the latest part of varying length
	for i, p := range f.parts {
		if p.width() >= 0 {
			continue
		}
		if last >= 0 && !f.hasSeparator(last, i) {
			c.addFault(i, "", "IDs could repeat: nothing tells where parts[%d] ends and this one begins, since both vary in length; put fixed-chars that neither can contain between them, or give one of them length_fixed", last)
		}
		last = i
	}
}
