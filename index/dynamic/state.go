// SPDX-License-Identifier: Apache-2.0

package dynamic

// state is what one record has of the fields that a program needs. It is reused.
type state struct {
	present []bool // the messages that are stored
	slots   []slot
}

// slot has the values of one field, as elements of keys.
type slot struct {
	set  bool   // a value is stored
	keys []byte // the elements, one behind the other
	ends []int  // of the elements of a slice, in keys
}

func newState(messages, slots int) *state {
	return &state{make([]bool, messages), make([]slot, slots)}
}

// reset forgets the record.
func (s *state) reset() {
	clear(s.present)
	for i := range s.slots {
		one := &s.slots[i]
		one.set, one.keys, one.ends = false, one.keys[:0], one.ends[:0]
	}
}

// keep sets the one value of the field.
func (s *slot) keep(keys []byte) { s.set, s.keys = true, keys }

// add adds an element, which ends the keys.
func (s *slot) add(keys []byte) { s.keys, s.ends = keys, append(s.ends, len(keys)) }

// element returns the n-th element.
func (s *slot) element(n int) []byte {
	from := 0
	if n > 0 {
		from = s.ends[n-1]
	}
	return s.keys[from:s.ends[n]]
}
