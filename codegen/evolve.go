// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// lockName is the name of the lock file beside a package's source.
const lockName = "persist.lock"

// evolution brings a package and its lock together: numbers are assigned from
// the lock, new ones are added to it, and what stored data could not survive is
// refused.
type evolution struct {
	*faults
	pkg   *pkg
	old   *schema.Schema
	next  *schema.Schema
	bases map[*message]*schema.Block // of which block in old each message is the present form
	owner map[*schema.Field]*field   // of the fields in next that the source has
	notes []string
}

// evolve makes the lock as it is to be written, and notes for the user. It sets
// the field numbers of the package's messages.
func evolve(p *pkg, old *schema.Schema, f *faults) *evolution {
	e := &evolution{faults: f, pkg: p, old: old, next: &schema.Schema{}, bases: map[*message]*schema.Block{}, owner: map[*schema.Field]*field{}}
	e.findBases()
	for _, m := range p.messages {
		e.message(m)
	}
	for _, b := range old.Blocks {
		if e.next.Block(b.Name) == nil {
			e.removedBlock(b)
		}
	}
	for _, r := range p.records {
		r.lock = e.next.OfType(r.name).Text()
	}
	e.check(against{old, e.relative(filepath.Join(p.dir, lockName))})
	return e
}

// findBases finds the block of each message. A record's is that of its name. A
// nested struct's is the one that a field held which now holds the struct: what
// is stored depends on the field, not on the struct's name or package, so both
// may change. A struct that no field held before has the block of its name, if
// there is one.
func (e *evolution) findBases() {
	for _, r := range e.pkg.records {
		e.bases[r.message] = e.old.Block(r.name)
	}
	for _, r := range e.pkg.records {
		e.basesBelow(r.message, map[*message]bool{})
	}
	for _, m := range e.pkg.messages {
		if e.bases[m] == nil {
			e.bases[m] = e.old.Block(m.name)
		}
		if e.bases[m] == nil {
			e.bases[m] = &schema.Block{}
		}
	}
}

func (e *evolution) basesBelow(m *message, seen map[*message]bool) {
	if seen[m] || e.bases[m] == nil {
		return
	}
	seen[m] = true
	for _, f := range m.fields {
		inner, was := f.typ.innerMessage(), e.bases[m].Field(f.name)
		if inner == nil || was == nil {
			continue
		}
		if b := e.old.Message(was); b != nil && e.bases[inner] == nil {
			e.bases[inner] = b
		}
		e.basesBelow(inner, seen)
	}
}

// removedBlock keeps the block of a type that left the source.
func (e *evolution) removedBlock(b *schema.Block) {
	kept := *b
	kept.Removed = true
	e.next.Blocks = append(e.next.Blocks, &kept)
	if b.Removed || !b.IsType {
		return
	}
	renamed := false
	for _, r := range e.pkg.records {
		if e.old.Block(r.name) == nil && sameFields(b, e.next.Block(r.name)) {
			renamed = true
			e.note("%s has the fields of the removed type %s; if it was renamed, write _ persistable.Type `persist:%q` into it, or its records are not found",
				r.goName, b.Name, b.Name)
		}
	}
	if !renamed {
		e.note("the type %s is gone; if it moved to another package, copy its block from here into the %s there", b.Name, lockName)
	}
}

func sameFields(a, b *schema.Block) bool {
	return b != nil && slices.EqualFunc(a.Fields, b.Fields, func(x, y *schema.Field) bool {
		return x.Name == y.Name && x.Kind == y.Kind
	})
}

func (e *evolution) note(format string, args ...any) {
	if note := "note: " + fmt.Sprintf(format, args...); !slices.Contains(e.notes, note) {
		e.notes = append(e.notes, note)
	}
}

// message assigns the numbers of one message and makes its block.
func (e *evolution) message(m *message) {
	base := e.bases[m]
	next := &schema.Block{IsType: m.record != nil, Name: m.name}
	e.next.Blocks = append(e.next.Blocks, next)
	if m.record != nil {
		e.record(m.record, base, next)
	}
	e.pin(m, base)
	for _, f := range m.fields {
		if f.number == 0 {
			f.number = nextNumber(m, base)
		}
		one := &schema.Field{Number: f.number, Name: f.name, Kind: f.typ.text(), Was: e.kindsBefore(f, base)}
		next.Fields, e.owner[one] = append(next.Fields, one), f
	}
	for _, was := range base.Fields {
		if next.ByNumber(was.Number) == nil {
			kept := *was
			kept.Reserved = true
			next.Fields = append(next.Fields, &kept)
			e.maybeRenamed(m, was, base, next)
		}
	}
}

// kindsBefore are the kinds that a field had: those in the lock, and the one
// that the option was= says.
func (e *evolution) kindsBefore(f *field, base *schema.Block) (was []string) {
	list := []string{f.options.was}
	if old := base.Field(f.name); old != nil {
		list = append(list, old.Was...)
	}
	for _, kind := range list {
		if kind != "" && kind != f.typ.text() && !slices.Contains(was, kind) {
			was = append(was, kind)
		}
	}
	return was
}

// record fills in what the block of a type has besides fields.
func (e *evolution) record(r *record, base, next *schema.Block) {
	next.Origin = e.pkg.path
	if base.Origin != "" {
		next.Origin = base.Origin
	}
	next.ID, next.Directory, next.Scatter = r.idField.typ.keyText(), r.directory.stored(), r.scatter.shards
	for _, d := range r.indexes {
		next.Indexes = append(next.Indexes, &schema.Index{Name: d.key(), Signature: d.lockSignature()})
	}
	for _, was := range base.Indexes {
		if next.Index(was.Name) == nil {
			next.Indexes = append(next.Indexes, &schema.Index{Name: was.Name, Signature: was.Signature, Removed: true})
		}
	}
}

// maybeRenamed notes a removed field beside a new one of its type.
func (e *evolution) maybeRenamed(m *message, was *schema.Field, base, next *schema.Block) {
	if was.Reserved {
		return
	}
	for _, f := range m.fields {
		if base.Field(f.name) == nil && next.Field(f.name).Kind == was.Kind {
			e.note("%s was removed and %s is new, both %s; if it was renamed, tag it name=%s, or the stored values are lost",
				m.goName+"."+was.Name, f.subject, was.Kind, was.Name)
		}
	}
}
