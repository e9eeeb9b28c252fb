// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// component is a field of an index: where its values are while a record is read.
type component struct {
	slot       int
	messages   []int // the flags of those without which it is null
	null       bool  // it is null where no value is stored
	slice      bool
	descending bool
	zero       []byte
}

// isNull reports whether the field of a record is null.
func (c *component) isNull(s *state) bool {
	for _, flag := range c.messages {
		if !s.present[flag] {
			return true
		}
	}
	return c.null && !s.slots[c.slot].set
}

// ascending returns the value, or the n-th element of a slice, as an element of a key
// in ascending order.
func (c *component) ascending(s *state, n int) []byte {
	switch one := &s.slots[c.slot]; {
	case c.slice:
		return one.element(n)
	case c.isNull(s):
		return null
	case one.set:
		return one.keys
	}
	return c.zero
}

var null = tuple.AppendNil(nil)

// appendKey appends the value, or the n-th element of a slice, to a key.
func (c *component) appendKey(k []byte, s *state, n int) []byte {
	from := len(k)
	k = append(k, c.ascending(s, n)...)
	if c.descending {
		k = index.Descend(k, from)
	}
	return k
}

// amount returns the number that the field has.
func (c *component) amount(s *state) index.Amount {
	key := c.ascending(s, 0)
	if v, _, err := tuple.ReadInt(key); err == nil {
		return index.IntAmount(v)
	}
	v, _, _ := tuple.ReadUint(key) // one or the other, since the kind is an integer
	return index.UintAmount(v)
}
