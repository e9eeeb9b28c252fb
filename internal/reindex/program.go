// SPDX-License-Identifier: Apache-2.0

// Package reindex computes the index entries of records from their stored bytes,
// without the Go code of their type. The header of a store has the layout of every
// index and the schema of every program that wrote there; [Compile] makes a
// [Program] of the two:
//
//	p, err := reindex.Compile("Order_Status", "Status:string", schemaOfTheHeader)
//	…
//	err = p.Entries(payload, entries) // payload: the protobuf message of the record
//
// So a program maintains an index that a newer program has added to a store, and a
// tool that has no Go types writes records. The keys are byte for byte those of the
// code that persistgen writes; a test compares the two for random records of many
// types.
//
// What a key depends on must be in the layout or in the schema. Compile refuses
// everything else with an *[Error]: kinds of values that only Go code can
// encode, words that this version does not know, fields that may or may not be null.
//
// # Concurrency and transactions
//
// A Program is immutable and may be used by several goroutines. It reads and writes
// no database.
package reindex

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
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
// after its header. It returns a *[wire.Error] if the payload is malformed, or
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
	if p.definition.Kind == index.Search {
		p.addTexts(e, s)
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

// Error says why no [Program] can be made of an index's layout.
type Error struct {
	Index  string // the name in keys
	Layout string
	Reason string
	Err    error // a lease.ErrNewer if a newer version of this library wrote the layout; the reason has its text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("index: %s with the layout %q: %s", e.Index, e.Layout, e.Reason)
}

// component is a field of an index: where its values are while a record is read.
type component struct {
	slot       int
	messages   []int // the flags of those without which it is null
	null       bool  // it is null where no value is stored
	slice      bool
	descending bool
	folded     bool
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
	if value := c.ascending(s, n); c.folded {
		k = appendFolded(k, value)
	} else {
		k = append(k, value...)
	}
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

// state is what one record has of the fields that a program needs. It is reused.
type state struct {
	present []bool // the messages that are stored
	slots   []slot
}

// slot has the values of one field, as elements of keys.
type slot struct {
	set  bool   // a value is stored
	keys []byte // the elements, one after the other
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
