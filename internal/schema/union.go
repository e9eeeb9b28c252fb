// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/internal/newer"
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
	u := unionBuilder{store: store, program: program, made: map[pair]*Block{}, union: &Schema{}, enums: map[[2]*Enum]string{}}
	u.addNeeds()
	root := u.uniteBlocks(pair{store.Type(), program.Type()})
	if !u.more {
		return store, false
	}
	was := store.Type()
	root.IsType, root.Origin, root.ID, root.Directory, root.Scatter = true, was.Origin, was.ID, was.Directory, was.Scatter
	return u.union, true
}

// unionBuilder makes a union. A message of it is a pair: what a field holds in the
// store and in the program, one of which may be nothing. So structs that one of
// them uses for two fields, and the other does not, stay apart.
type unionBuilder struct {
	store, program *Schema
	made           map[pair]*Block
	enums          map[[2]*Enum]string // the names of those in the union
	union          *Schema
	more           bool
}

// addNeeds unites what the two need.
func (u *unionBuilder) addNeeds() {
	u.union.Needs = slices.Clone(u.store.Needs)
	for _, n := range u.program.Needs {
		if !slices.ContainsFunc(u.union.Needs, func(o newer.Need) bool { return o.Name == n.Name }) {
			u.union.Needs, u.more = append(u.union.Needs, n), true
		}
	}
}

// uniteBlocks returns the union of the two forms of a message.
func (u *unionBuilder) uniteBlocks(p pair) *Block {
	if b := u.made[p]; b != nil {
		return b
	}
	name := p.here
	if p.there != nil {
		name = p.there
	}
	b := &Block{Name: u.freeName(name.Name)}
	u.made[p], u.union.Blocks = b, append(u.union.Blocks, b)
	for _, f := range p.there.allFields() {
		b.Fields = append(b.Fields, u.uniteFields(f, p.here.fieldByNumber(f.Number)))
	}
	for _, f := range p.here.allFields() {
		if p.there.fieldByNumber(f.Number) == nil {
			u.more = u.more || p.there != nil
			b.Fields = append(b.Fields, u.uniteFields(nil, f))
		}
	}
	return b
}

// freeName returns the name, or one like it that no message of the union has.
func (u *unionBuilder) freeName(name string) string {
	for n, free := 2, name; ; n, free = n+1, name+strconv.Itoa(n) {
		if u.union.Block(free) == nil {
			return free
		}
	}
}

// uniteFields returns the union of the two forms of a field. The kind is the
// program's if the header does not know it yet.
func (u *unionBuilder) uniteFields(there, here *Field) *Field {
	f := &Field{}
	switch {
	case there == nil:
		*f = *here
	case here == nil:
		*f = *there
	default:
		*f = *there
		u.addKinds(f, here)
		if here.Rules.Revision > f.Rules.Revision {
			f.Rules, u.more = here.Rules, true
		}
	}
	f.Enums = u.uniteEnums(there, here)
	inner := pair{u.messageOf(u.store, there), u.messageOf(u.program, here)}
	if inner.there != nil || inner.here != nil {
		k, _ := ParseKind(f.Kind)
		k.Arg = u.uniteBlocks(inner).Name
		f.Kind = k.String()
	}
	return f
}

func (u *unionBuilder) messageOf(s *Schema, f *Field) *Block {
	if f == nil {
		return nil
	}
	return s.Message(f)
}

// addKinds adds the kinds of the program's field to those of the header's.
func (u *unionBuilder) addKinds(f *Field, here *Field) {
	known := func(kind string) bool { return sameKind(f.Kind, kind) || f.hadKind(kind) }
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
