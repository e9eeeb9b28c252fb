// SPDX-License-Identifier: Apache-2.0

package codegen

import "github.com/kazahana-db/kazahana/internal/schema"

// pin sets the numbers that the lock or the source decides.
func (e *evolution) pin(m *message, base *schema.Block) {
	for _, f := range m.fields {
		was := base.Field(f.name)
		asked := f.options.number
		switch {
		case m.record != nil && f == m.record.idField:
		case was != nil && asked != 0 && asked != was.Number:
			e.add(f.optionAt("number"), f.subject, "number=%d, but %s has number %d (%s:%d); a number is for ever: remove the option",
				asked, f.name, was.Number, e.lockFile(), was.Line)
			f.number = was.Number
		case was != nil:
			f.number = was.Number
		}
		if was != nil {
			continue
		}
		if owner := base.ByNumber(f.number); f.number != 0 && owner != nil {
			e.reused(f, owner, m)
			f.number = 0
		}
	}
	e.twice(m)
}

// reused reports a field that takes a number which another has, or had.
func (e *evolution) reused(f *field, owner *schema.Field, m *message) {
	at := f.optionAt("number")
	switch {
	case m.record != nil && f == m.record.idField:
		e.add(f.at, f.subject, "the ID field was %s (%s:%d); keep the name of it with name=%s", owner.Name, e.lockFile(), owner.Line, owner.Name)
	case owner.Reserved:
		e.add(at, f.subject, "the number %d was that of the removed field %s (%s:%d), whose data may still be stored; choose another, or remove the option",
			f.number, owner.Name, e.lockFile(), owner.Line)
	default:
		e.add(at, f.subject, "the number %d is that of %s (%s:%d); choose another, or, if %s was renamed, write name=%s instead",
			f.number, owner.Name, e.lockFile(), owner.Line, owner.Name, owner.Name)
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
func nextNumber(m *message, base *schema.Block) int32 {
	used := map[int32]bool{}
	for _, f := range m.fields {
		used[f.number] = true
	}
	next := int32(1)
	if m.record != nil {
		next = idNumber + 1
	}
	for used[next] || base.ByNumber(next) != nil || next >= reservedNumbers && next < reservedNumbers+1000 {
		next++
	}
	return next
}
