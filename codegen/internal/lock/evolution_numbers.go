// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// pinNumbers sets the numbers that the lock or the source decides.
func (e *Evolution) pinNumbers(m *model.Message, base *schema.Block) {
	for _, f := range m.Fields {
		was := base.Field(f.Name)
		asked := f.Options.Number
		switch {
		case m.Record != nil && f == m.Record.IDField:
		case was != nil && asked != 0 && asked != was.Number:
			e.Add(f.OptionAt("number"), f.Subject, "number=%d, but %s has number %d (%s:%d); a field keeps its number for ever: remove the option",
				asked, f.Name, was.Number, e.LockFile(), was.Line)
			f.Number = was.Number
		case was != nil:
			f.Number = was.Number
		}
		if was != nil {
			continue
		}
		if owner := base.ByNumber(f.Number); f.Number != 0 && owner != nil {
			e.reportReused(f, owner, m)
			f.Number = 0
		}
	}
	e.reportRepeated(m)
}

// reportReused reports a field that takes a number which another has, or had.
func (e *Evolution) reportReused(f *model.Field, owner *schema.Field, m *model.Message) {
	at := f.OptionAt("number")
	switch {
	case m.Record != nil && f == m.Record.IDField:
		e.Add(f.At, f.Subject, "the ID field was named %s (%s:%d); keep that name with name=%s", owner.Name, e.LockFile(), owner.Line, owner.Name)
	case owner.Reserved:
		e.Add(at, f.Subject, "the number %d was that of the removed field %s (%s:%d), whose data may still be stored; choose another, or remove the option",
			f.Number, owner.Name, e.LockFile(), owner.Line)
	default:
		e.Add(at, f.Subject, "the number %d is that of %s (%s:%d); choose another, or, if %s was renamed, write name=%s instead",
			f.Number, owner.Name, e.LockFile(), owner.Line, owner.Name, owner.Name)
	}
}

// reportRepeated reports two fields of the source with one number.
func (e *Evolution) reportRepeated(m *model.Message) {
	byNumber := map[int32]*model.Field{}
	for _, f := range m.Fields {
		if f.Number == 0 {
			continue
		}
		if first := byNumber[f.Number]; first != nil {
			e.Add(f.OptionAt("number"), f.Subject, "the number %d is that of %s already; choose another", f.Number, first.GoName)
		}
		byNumber[f.Number] = f
	}
}

// nextNumber is the lowest number that neither is nor ever was in use.
func nextNumber(m *model.Message, base *schema.Block) int32 {
	used := map[int32]bool{}
	for _, f := range m.Fields {
		used[f.Number] = true
	}
	next := int32(1)
	if m.Record != nil {
		next = tags.IDNumber + 1
	}
	for used[next] || base.ByNumber(next) != nil || next >= tags.ReservedNumbers && next < tags.ReservedNumbers+1000 {
		next++
	}
	return next
}
