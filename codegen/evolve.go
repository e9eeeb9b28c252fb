// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// evolution brings a package and its lock together: numbers are assigned from
// the lock, new ones are added to it, and what stored data could not survive is
// refused.
type evolution struct {
	*faults
	pkg   *pkg
	old   *lock
	next  *lock
	notes []string
}

// evolve returns the lock as it is to be written and notes for the user. It
// sets the field numbers of the package's messages.
func evolve(p *pkg, old *lock, f *faults) (*lock, []string) {
	e := &evolution{faults: f, pkg: p, old: old, next: &lock{}}
	for _, m := range p.messages {
		e.message(m)
	}
	for _, b := range old.blocks {
		if e.next.block(b.name) == nil {
			e.removedBlock(b)
		}
	}
	return e.next, e.notes
}

// removedBlock keeps the block of a type that left the source.
func (e *evolution) removedBlock(b *lockBlock) {
	kept := *b
	kept.removed = true
	e.next.blocks = append(e.next.blocks, &kept)
	if b.removed || !b.isType {
		return
	}
	for _, r := range e.pkg.records {
		if e.old.block(r.name) == nil && sameFields(b, e.next.block(r.name)) {
			e.note("%s has the fields of the removed type %s; if it was renamed, write _ persistable.Type `persist:%q` into it, or its records are not found",
				r.goName, b.name, b.name)
		}
	}
}

func sameFields(a, b *lockBlock) bool {
	return b != nil && slices.EqualFunc(a.fields, b.fields, func(x, y *lockField) bool {
		return x.name == y.name && x.kind == y.kind
	})
}

func (e *evolution) note(format string, args ...any) {
	e.notes = append(e.notes, "note: "+fmt.Sprintf(format, args...))
}

// where names a line of the lock file.
func (e *evolution) where(line int) string {
	return relative(e.dir, filepath.Join(e.pkg.dir, lockName)) + ":" + strconv.Itoa(line)
}

// message assigns the numbers of one message and checks it against its block.
func (e *evolution) message(m *message) {
	old := e.old.block(m.name)
	if old == nil {
		old = &lockBlock{}
	}
	next := &lockBlock{isType: m.record != nil, name: m.name}
	e.next.blocks = append(e.next.blocks, next)
	if m.record != nil {
		e.record(m.record, old, next)
	}
	e.pin(m, old)
	for _, f := range m.fields {
		if f.number == 0 {
			f.number = nextNumber(m, old)
		}
		next.fields = append(next.fields, &lockField{number: f.number, name: f.name, kind: f.typ.text()})
	}
	for _, was := range old.fields {
		if next.byNumber(was.number) == nil {
			next.fields = append(next.fields, &lockField{number: was.number, name: was.name, kind: was.kind, reserved: true})
			e.maybeRenamed(m, was, old, next)
		}
	}
}

// pin sets the numbers that the lock or the source decides.
func (e *evolution) pin(m *message, old *lockBlock) {
	for _, f := range m.fields {
		was := old.field(f.name)
		asked := f.options.number
		switch {
		case m.record != nil && f == m.record.idField:
		case was != nil && asked != 0 && asked != was.number:
			e.add(f.optionAt("number"), f.subject, "number=%d, but %s has number %d (%s); a number is for ever: remove the option",
				asked, f.name, was.number, e.where(was.line))
			f.number = was.number
		case was != nil:
			f.number = was.number
		}
		if was != nil {
			if m.record == nil || f != m.record.idField || old.id == f.typ.keyText() {
				e.compare(f, was)
			}
			continue
		}
		if owner := old.byNumber(f.number); f.number != 0 && owner != nil {
			e.reused(f, owner, m)
			f.number = 0
		}
	}
	e.twice(m)
}

// reused reports a field that takes a number which another has, or had.
func (e *evolution) reused(f *field, owner *lockField, m *message) {
	at := f.optionAt("number")
	switch {
	case m.record != nil && f == m.record.idField:
		e.add(f.at, f.subject, "the ID field was %s (%s); keep the name of it with name=%s", owner.name, e.where(owner.line), owner.name)
	case owner.reserved:
		e.add(at, f.subject, "the number %d was that of the removed field %s (%s), whose data may still be stored; choose another, or remove the option",
			f.number, owner.name, e.where(owner.line))
	default:
		e.add(at, f.subject, "the number %d is that of %s (%s); choose another, or, if %s was renamed, write name=%s instead",
			f.number, owner.name, e.where(owner.line), owner.name, owner.name)
	}
}

// twice reports two fields of the source with one number.
func (e *evolution) twice(m *message) {
	byNumber := map[int32]*field{}
	for _, f := range m.fields {
		if f.number == 0 {
			continue
		}
		if first := byNumber[f.number]; first != nil {
			e.add(f.optionAt("number"), f.subject, "the number %d is that of %s already; choose another", f.number, first.goName)
		}
		byNumber[f.number] = f
	}
}

// nextNumber is the lowest number that neither is nor ever was in use.
func nextNumber(m *message, old *lockBlock) int32 {
	used := map[int32]bool{}
	for _, f := range m.fields {
		used[f.number] = true
	}
	next := int32(1)
	if m.record != nil {
		next = idNumber + 1
	}
	for used[next] || old.byNumber(next) != nil || next >= reservedNumbers && next < reservedNumbers+1000 {
		next++
	}
	return next
}

// compare refuses a type change that stored values do not survive.
func (e *evolution) compare(f *field, was *lockField) {
	now := f.typ.text()
	if compatible(was.kind, now) {
		return
	}
	e.add(f.at, f.subject, "its type changed from %s to %s (%s); stored records could not be read: restore the type, or add a new field and leave this one out",
		was.kind, now, e.where(was.line))
}

// compatible reports whether a field of kind was may become now: the same,
// with or without null, or a wider integer.
func compatible(was, now string) bool {
	was, now = strings.TrimPrefix(was, "*"), strings.TrimPrefix(now, "*")
	if was == now {
		return true
	}
	for _, prefix := range []string{"[]int", "[]uint", "int", "uint"} {
		before, ok1 := strings.CutPrefix(was, prefix)
		after, ok2 := strings.CutPrefix(now, prefix)
		if !ok1 || !ok2 {
			continue
		}
		x, err1 := strconv.Atoi(before)
		y, err2 := strconv.Atoi(after)
		return err1 == nil && err2 == nil && x <= y
	}
	return false
}

// maybeRenamed notes a removed field beside a new one of its type.
func (e *evolution) maybeRenamed(m *message, was *lockField, old, next *lockBlock) {
	if was.reserved {
		return
	}
	for _, f := range m.fields {
		if old.field(f.name) == nil && next.field(f.name).kind == was.kind {
			e.note("%s was removed and %s is new, both %s; if it was renamed, tag it name=%s, or the stored values are lost",
				m.goName+"."+was.name, f.subject, was.kind, was.name)
		}
	}
}

// record compares the ID, the directory and the indexes of a type.
func (e *evolution) record(r *record, old, next *lockBlock) {
	next.id, next.directory = r.idField.typ.keyText(), r.directory.shape()
	if old.id != "" && old.id != next.id {
		e.add(r.idField.at, r.idField.subject, "the ID's type changed from %s to %s (%s); stored records would not be found: restore it, or make a new type",
			old.id, next.id, e.where(old.idLine))
	}
	if old.directory != "" && old.directory != next.directory {
		at := r.directory.at
		e.add(at, r.goName, "the directory changed from %s to %s (%s); stored records would not be found: restore it; where there is no data, delete the line from the lock",
			old.directory, next.directory, e.where(old.directoryLine))
	}
	e.scatter(r, old, next)
	for _, d := range r.indexes {
		next.indexes = append(next.indexes, &lockIndex{name: d.key(), signature: d.lockSignature()})
		e.index(r, d, old)
	}
	for _, was := range old.indexes {
		if next.index(was.name) == nil {
			next.indexes = append(next.indexes, &lockIndex{name: was.name, signature: was.signature, removed: true})
		}
	}
}

// scatter refuses another number of shards: stored records stay where they are.
func (e *evolution) scatter(r *record, old, next *lockBlock) {
	next.scatter = r.scatter.shards
	if !old.isType || old.scatter == next.scatter {
		return
	}
	at, line, remedy := r.scatter.at, old.scatterLine, fmt.Sprintf("put the line \"scatter %d\" into the block", next.scatter)
	if at.Line == 0 {
		at, remedy = r.at, "delete the line"
	}
	if line == 0 {
		line = old.line
	}
	e.add(at, r.goName, "the scattering changed from %s to %s (%s); records that are stored stay as they are, in each directory that has any: "+
		"restore it, and copy records into a new type to scatter them otherwise; where there is no data, or only new directories are meant, %s",
		scatter{shards: old.scatter}.text(), r.scatter.text(), e.where(line), remedy)
}

// index refuses an index whose name is that of entries of another layout.
func (e *evolution) index(r *record, d *indexDef, old *lockBlock) {
	was := old.index(d.key())
	if was == nil || was.signature == d.lockSignature() {
		return
	}
	e.add(d.at, r.goName, "the keys of the index %s changed from %s to %s (%s); old entries could not be used: give the index a new name with name=, which builds it anew",
		d.key(), was.signature, d.lockSignature(), e.where(was.line))
}

// signature names the kinds of the components, which decide the bytes of keys.
// A field that may be null is another kind: the zero of a field without null is
// not in the record, and would be read as null.
func (d *indexDef) signature() string {
	kinds := make([]string, len(d.components))
	for i, one := range d.components {
		kinds[i] = one.element.keyText()
		if one.nullable {
			kinds[i] = "*" + kinds[i]
		}
		if one.slice {
			kinds[i] = "[]" + kinds[i]
		}
	}
	return strings.Join(kinds, ",")
}

// lockSignature is all that the entries depend on.
func (d *indexDef) lockSignature() string {
	text := d.fieldNames() + " " + d.signature()
	if d.cover {
		text += " cover"
	}
	if d.scatter.shards != 0 {
		text += " scatter=" + d.scatter.text()
	}
	return text
}
