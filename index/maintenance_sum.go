// SPDX-License-Identifier: Apache-2.0

package index

// maintainSum adds the record's amount to the sums of its groups, and takes away what
// its stored form had added. A sum of 0 has no entry.
func (m *maintenance) maintainSum(d difference) {
	for s, ok := d.next(); ok; s, ok = d.next() {
		var change Amount
		if s.entries >= 0 {
			change = d.entries.entries.amount(s.entries)
		}
		if s.stored >= 0 {
			change = change.Add(d.stored.entries.amount(s.stored).Negate())
		}
		if !change.IsZero() {
			m.add(d.key(s), change.AppendBytes(m.buf[:0]))
		}
	}
}
