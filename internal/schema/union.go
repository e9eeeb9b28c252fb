// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"
)

// Union returns the schema of a store to which a program is about to write: all
// that the store's header has, and what the program adds. The two must not have
// differences. It reports whether the program adds anything; if not, the union
// is the store's schema itself.
//
// A union never lacks a field or a kind that the header had. So the header of a
// store is the sum of all programs that ever wrote there, in whatever order, and
// programs of different age do not undo each other's changes.
func Union(store, program *Schema) (union *Schema, more bool) {
	u := uniter{store: store, program: program, made: map[pair]*Block{}, union: &Schema{}}
	root := u.block(pair{store.root(), program.root()})
	if !u.more {
		return store, false
	}
	was := store.root()
	root.IsType, root.Origin, root.ID, root.Directory, root.Scatter = true, was.Origin, was.ID, was.Directory, was.Scatter
	return u.union, true
}

// uniter makes a union. A message of it is a pair: what a field holds in the
// store and in the program, one of which may be nothing. So structs that one of
// them uses for two fields, and the other does not, stay apart.
type uniter struct {
	store, program *Schema
	made           map[pair]*Block
	union          *Schema
	more           bool
}

// block returns the union of the two forms of a message.
func (u *uniter) block(p pair) *Block {
	if b := u.made[p]; b != nil {
		return b
	}
	name := p.here
	if p.there != nil {
		name = p.there
	}
	b := &Block{Name: u.free(name.Name)}
	u.made[p], u.union.Blocks = b, append(u.union.Blocks, b)
	for _, f := range p.there.all() {
		b.Fields = append(b.Fields, u.field(f, p.here.byNumber(f.Number)))
	}
	for _, f := range p.here.all() {
		if p.there.byNumber(f.Number) == nil {
			u.more = u.more || p.there != nil
			b.Fields = append(b.Fields, u.field(nil, f))
		}
	}
	return b
}

// free returns the name, or one like it that no message of the union has.
func (u *uniter) free(name string) string {
	for n, free := 2, name; ; n, free = n+1, name+strconv.Itoa(n) {
		if u.union.Block(free) == nil {
			return free
		}
	}
}

// field returns the union of the two forms of a field. The kind is the
// program's if the header does not know it yet.
func (u *uniter) field(there, here *Field) *Field {
	f := &Field{}
	switch {
	case there == nil:
		*f = *here
	case here == nil:
		*f = *there
	default:
		*f = *there
		u.kinds(f, here)
	}
	inner := pair{u.messageOf(u.store, there), u.messageOf(u.program, here)}
	if inner.there != nil || inner.here != nil {
		k, _ := ParseKind(f.Kind)
		k.Arg = u.block(inner).Name
		f.Kind = k.String()
	}
	return f
}

func (u *uniter) messageOf(s *Schema, f *Field) *Block {
	if f == nil {
		return nil
	}
	return s.Message(f)
}

// kinds adds the kinds of the program's field to those of the header's.
func (u *uniter) kinds(f *Field, here *Field) {
	known := func(kind string) bool { return sameKind(f.Kind, kind) || f.was(kind) }
	f.Was = slices.Clone(f.Was)
	if !known(here.Kind) {
		f.Was = append([]string{f.Kind}, f.Was...)
		f.Kind, u.more = here.Kind, true
	}
	for _, kind := range here.Was {
		if !known(kind) {
			f.Was, u.more = append(f.Was, kind), true
		}
	}
}

// all returns the fields of a message that there may not be.
func (b *Block) all() []*Field {
	if b == nil {
		return nil
	}
	return b.Fields
}

func (b *Block) byNumber(number int32) *Field {
	if b == nil {
		return nil
	}
	return b.ByNumber(number)
}
