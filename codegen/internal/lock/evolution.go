// SPDX-License-Identifier: Apache-2.0

// Package lock compares a model with the persist.lock of its package: it assigns
// field numbers, computes the next lock, and refuses a change that stored data, or
// programs that still run, would not survive.
//
// The tables of internal/schema say which changes are allowed. This package reports
// where in the source a change is, and what its author can do.
package lock

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// FileName is the name of the lock file in a package's folder.
const FileName = "persist.lock"

// Evolution brings a package and its lock together: numbers are assigned from
// the lock, new ones are added to it, and what stored data could not survive is
// refused.
type Evolution struct {
	*diagnostic.List
	Package *model.Package
	old     *schema.Schema
	Next    *schema.Schema
	bases   map[*model.Message]*schema.Block // of which block in old each message is the present form
	owner   map[*schema.Field]*model.Field   // of the fields in next that the source has

	constants map[*schema.Constant]model.EnumConstant // of those in next that the source has
}

// Evolve makes the lock as it is to be written, and notes for the user. It sets
// the field numbers of the package's messages.
func Evolve(p *model.Package, old *schema.Schema, f *diagnostic.List) *Evolution {
	e := &Evolution{List: f, Package: p, old: old, Next: &schema.Schema{Needs: old.Needs}, bases: map[*model.Message]*schema.Block{}, owner: map[*schema.Field]*model.Field{}, constants: map[*schema.Constant]model.EnumConstant{}}
	e.findBases()
	for _, m := range p.Messages {
		e.addMessage(m)
	}
	for _, b := range old.Blocks {
		if e.Next.Block(b.Name) == nil {
			e.keepRemoved(b)
		}
	}
	e.keepEnums()
	for _, r := range p.Records {
		r.Lock = e.Next.OfType(r.Name).Text()
	}
	e.Check(Predecessor{old, e.Relative(filepath.Join(p.Dir, FileName))})
	return e
}

// keepRemoved keeps the block of a type that left the source.
func (e *Evolution) keepRemoved(b *schema.Block) {
	kept := *b
	kept.Removed = true
	e.Next.Blocks = append(e.Next.Blocks, &kept)
	if b.Removed || !b.IsType {
		return
	}
	renamed := false
	for _, r := range e.Package.Records {
		if e.old.Block(r.Name) == nil && sameFields(b, e.Next.Block(r.Name)) {
			renamed = true
			e.Note(r.At, "%s has the fields of the removed type %s; if it was renamed, write _ persistable.Type `persist:%q` into it, or its records are not found",
				r.GoName, b.Name, b.Name)
		}
	}
	if !renamed {
		e.Note(e.lockPosition(b.Line), "the type %s is gone; if it moved to another package, copy its block into the %s of that package", b.Name, FileName)
	}
}

func sameFields(a, b *schema.Block) bool {
	return b != nil && slices.EqualFunc(a.Fields, b.Fields, func(x, y *schema.Field) bool {
		return x.Name == y.Name && x.Kind == y.Kind
	})
}

// addMessage assigns the numbers of one message and makes its block.
func (e *Evolution) addMessage(m *model.Message) {
	base := e.bases[m]
	next := &schema.Block{IsType: m.Record != nil, Name: m.Name}
	e.Next.Blocks = append(e.Next.Blocks, next)
	if m.Record != nil {
		e.fillRecord(m.Record, base, next)
	}
	e.pinNumbers(m, base)
	for _, f := range m.Fields {
		if f.Number == 0 {
			f.Number = nextNumber(m, base)
		}
		one := &schema.Field{Number: f.Number, Name: f.Name, Kind: f.Kind.Text(), Default: f.Default, Was: e.kindsBefore(f, base), Named: f.Options.Enum}
		if was := base.Field(f.Name); was != nil {
			one.Rules = was.Rules
		}
		one.Rules = one.Rules.Follow(f.Rules())
		e.addEnums(one, f.Kind.Enums(), base.Field(f.Name))
		next.Fields, e.owner[one] = append(next.Fields, one), f
	}
	for _, was := range base.Fields {
		if next.ByNumber(was.Number) == nil {
			kept := *was
			kept.Reserved = true
			next.Fields = append(next.Fields, &kept)
		}
	}
}

// kindsBefore are the kinds that a field had: those in the lock, and the one
// that the option was= says.
func (e *Evolution) kindsBefore(f *model.Field, base *schema.Block) (was []string) {
	list := []string{f.Options.Was}
	if old := base.Field(f.Name); old != nil {
		list = append(list, old.Was...)
	}
	for _, kind := range list {
		if kind != "" && kind != f.Kind.Text() && !slices.Contains(was, kind) {
			was = append(was, kind)
		}
	}
	return was
}

// fillRecord fills in what the block of a type has besides fields.
func (e *Evolution) fillRecord(r *model.Record, base, next *schema.Block) {
	next.Origin = e.Package.Path
	if base.Origin != "" {
		next.Origin = base.Origin
	}
	next.ID, next.Directory, next.Scatter = r.IDField.Kind.KeyText(), r.Directory.StoredPath(), r.Scatter.Shards
	for _, d := range r.Indexes {
		next.Indexes = append(next.Indexes, &schema.Index{Name: d.Key(), Signature: d.LockSignature()})
	}
	for _, was := range base.Indexes {
		if next.Index(was.Name) == nil {
			next.Indexes = append(next.Indexes, &schema.Index{Name: was.Name, Signature: was.Signature, Removed: true, Confirmed: was.Confirmed, Line: was.Line})
		}
	}
}

// renamedTo are the new fields of a message that have the kind of a removed one.
func (e *Evolution) renamedTo(d schema.Difference) (list []*model.Field) {
	for _, f := range d.HereBlock.Fields {
		if owner := e.owner[f]; owner != nil && d.ThereBlock.Field(f.Name) == nil && f.Kind == d.ThereField.Kind {
			list = append(list, owner)
		}
	}
	return list
}

// findBases finds the block of each message. A record's is that of its name. A
// nested struct's is the one that a field held which now holds the struct: what
// is stored depends on the field, not on the struct's name or package, so both
// may change. A struct that no field held before has the block of its name, if
// there is one.
func (e *Evolution) findBases() {
	for _, r := range e.Package.Records {
		e.bases[r.Message] = e.old.Block(r.Name)
	}
	for _, r := range e.Package.Records {
		e.findBasesBelow(r.Message, map[*model.Message]bool{})
	}
	for _, m := range e.Package.Messages {
		if e.bases[m] == nil {
			e.bases[m] = e.old.Block(m.Name)
		}
		if e.bases[m] == nil {
			e.bases[m] = &schema.Block{}
		}
	}
}

func (e *Evolution) findBasesBelow(m *model.Message, seen map[*model.Message]bool) {
	if seen[m] || e.bases[m] == nil {
		return
	}
	seen[m] = true
	for _, f := range m.Fields {
		inner, was := f.Kind.InnerMessage(), e.bases[m].Field(f.Name)
		if inner == nil || was == nil {
			continue
		}
		if b := e.old.Message(was); b != nil && e.bases[inner] == nil {
			e.bases[inner] = b
		}
		e.findBasesBelow(inner, seen)
	}
}

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
		e.Add(at, f.Subject, "the number %d was that of the removed field %s (%s:%d), and its data may still be stored; choose another, or remove the option",
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

// Predecessor is a lock with which the next one is compared, and where it comes
// from: a file, or REVISION:FILE.
type Predecessor struct {
	Lock *schema.Schema
	Name string
}

// describeLine names a line of a lock.
func (a Predecessor) describeLine(line int) string { return fmt.Sprintf("%s:%d", a.Name, line) }
