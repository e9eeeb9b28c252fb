// SPDX-License-Identifier: Apache-2.0

package wheel

// block is a part of a list of entries, of 512 bytes: entries that follow each other in memory are read
// faster than those of a linked list.
type block struct {
	next    *block
	n       int
	entries [62]Entry
}

// spare is how many blocks more than are in use a pool keeps.
const spare = 16

// pool keeps blocks that are out of use, for the next slots.
type pool struct {
	free       *block
	used, kept int
}

// push adds an entry to a list.
func (p *pool) push(list **block, e Entry) {
	b := *list
	if b == nil || b.n == len(b.entries) {
		b = p.get()
		b.next, *list = *list, b
	}
	b.entries[b.n] = e
	b.n++
}

// pop takes an entry out of a list that is not empty.
func (p *pool) pop(list **block) Entry {
	b := *list
	b.n--
	e := b.entries[b.n]
	if b.n == 0 {
		*list = b.next
		p.put(b)
	}
	return e
}

func (p *pool) get() *block {
	p.used++
	b := p.free
	if b == nil {
		return new(block)
	}
	p.free = b.next
	p.kept--
	return b
}

func (p *pool) put(b *block) {
	b.n = 0
	p.used--
	b.next, p.free = p.free, b
	for p.kept++; p.kept > p.used+spare; p.kept-- {
		p.free = p.free.next
	}
}
