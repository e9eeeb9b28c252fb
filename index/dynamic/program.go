// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"sync"

	"github.com/kazahana-db/kazahana/index"
)

// Program computes the entries of records in one index. It is immutable and for
// any number of goroutines.
type Program struct {
	definition index.Definition
	record     *message
	where      []condition // all must hold
	keys       []component // in the order of the fields
	slice      int         // which of keys is a slice; -1 for none
	amount     *component  // that a sum adds; nil for other kinds
	cover      []coverField
	states     sync.Pool
}

// Definition returns the index that the layout describes. It must not be changed.
func (p *Program) Definition() *index.Definition { return &p.definition }

// Entries adds the entries of the record with that payload, the protobuf message
// behind its header. It returns a *[wire.Error] if the payload is malformed, or
// a field of the index is not of the kind that the schema says; e then has no
// entry. The payload may have fields that the schema does not have.
func (p *Program) Entries(payload []byte, e *index.Entries) error {
	s := p.states.Get().(*state)
	defer p.states.Put(s)
	s.reset()
	if err := p.record.read(payload, s); err != nil {
		return err
	}
	if !p.hasEntries(s) {
		return nil
	}
	if p.slice < 0 {
		p.addEntry(e, s, 0)
		return nil
	}
	for n := range s.slots[p.keys[p.slice].slot].ends {
		p.addEntry(e, s, n)
	}
	return nil
}

// hasEntries reports whether the record has entries: the condition holds, the
// amount of a sum is not null, nor is a field of a unique index.
func (p *Program) hasEntries(s *state) bool {
	for i := range p.where {
		if !p.where[i].holds(s) {
			return false
		}
	}
	if p.amount != nil && p.amount.isNull(s) {
		return false
	}
	for i := range p.keys {
		if p.definition.Unique && p.keys[i].isNull(s) {
			return false
		}
	}
	return true
}

// addEntry adds the entry of the n-th element of the slice, if there is one.
func (p *Program) addEntry(e *index.Entries, s *state, n int) {
	k := e.Begin()
	for i := range p.keys {
		k = p.keys[i].appendKey(k, s, n)
	}
	if p.amount != nil {
		e.EndAmount(k, p.amount.amount(s))
		return
	}
	e.End(k)
}

// AppendCover appends what an entry of an index with chosen fields copies of the record
// with that payload. It returns a *[wire.Error] if the payload is malformed.
func (p *Program) AppendCover(dst, payload []byte) ([]byte, error) {
	for i := range p.cover {
		var err error
		if dst, err = p.cover[i].appendCopy(dst, payload); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
