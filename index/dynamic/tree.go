// SPDX-License-Identifier: Apache-2.0

package dynamic

import "fmt"

// tree collects the fields that a program needs, each once.
type tree struct {
	root            *message
	messages, slots int
}

func newTree() *tree { return &tree{root: &message{}, messages: 1} }

// addPath has the values at the end of a path kept. It returns their slot and the
// flags of the messages on the way.
func (t *tree) addPath(p path, v value, slice bool) (at int, flags []int, err error) {
	m := t.root
	for _, f := range p[:len(p)-1] {
		m = t.addMessage(m, f.Number)
		if m == nil {
			return 0, nil, fmt.Errorf("the number %d of %s has two meanings", f.Number, p)
		}
		flags = append(flags, m.flag)
	}
	number := p.last().Number
	if known := m.find(number); known != nil {
		if known.inner != nil || known.key != v.key || known.slice != slice {
			return 0, nil, fmt.Errorf("%s is named with two kinds", p)
		}
		return known.slot, flags, nil
	}
	m.fields = append(m.fields, messageField{number: number, slot: t.slots, slice: slice, value: v})
	t.slots++
	return t.slots - 1, flags, nil
}

// addMessage returns the nested message with that number, nil if it is a value.
func (t *tree) addMessage(m *message, number int32) *message {
	if known := m.find(number); known != nil {
		return known.inner
	}
	inner := &message{flag: t.messages}
	t.messages++
	m.fields = append(m.fields, messageField{number: number, inner: inner})
	return inner
}

// newComponent has the values at the end of a path kept that the index calls m.
func (t *tree) newComponent(p path, m mark) (c component, err error) {
	v, err := p.value(m)
	if err != nil {
		return c, err
	}
	nulls, err := p.nulls(m.null)
	if err != nil {
		return c, err
	}
	at, flags, err := t.addPath(p, v, m.slice)
	c = component{slot: at, null: nulls[len(p)-1], slice: m.slice, zero: v.absent(p.last())}
	for i, flag := range flags {
		if nulls[i] {
			c.messages = append(c.messages, flag)
		}
	}
	return c, err
}
