// SPDX-License-Identifier: Apache-2.0

package embedded

// view is the database at one version: a snapshot of the window over the base.
// It is immutable and may be shared between transactions and goroutines.
type view struct {
	version int64
	entries tree[entry]
	err     error // why the version cannot be read; nil: it can
}

// get returns the value of key, nil if there is none.
func (v *view) get(key []byte) ([]byte, error) {
	if e := v.entries.get(key); e != nil && e.point == present {
		return e.value, nil
	}
	return nil, nil
}

// scan walks over the keys of a view that have a value, in either direction.
type scan struct {
	view  *view
	key   []byte
	value []byte
}

// newScan returns a scan that is at no key yet.
func (v *view) newScan() scan { return scan{view: v} }

// get returns the value of key, nil if there is none.
func (s *scan) get(key []byte) []byte {
	value, _ := s.view.get(key)
	return value
}

// seek moves to the first key not below from and reports whether there is one.
func (s *scan) seek(from []byte) bool {
	var c cursor[entry]
	return s.take(&c, c.seek(&s.view.entries, from), (*cursor[entry]).next)
}

// seekBelow moves to the last key below from.
func (s *scan) seekBelow(from []byte) bool {
	var c cursor[entry]
	return s.take(&c, c.seekBelow(&s.view.entries, from), (*cursor[entry]).prev)
}

// take moves on from where the cursor is to an entry with a value.
func (s *scan) take(c *cursor[entry], ok bool, step func(*cursor[entry]) bool) bool {
	for ; ok; ok = step(c) {
		if e := c.val(); e.point == present {
			s.key, s.value = c.key(), e.value
			return true
		}
	}
	return false
}

func (s *scan) close() error { return nil }
