// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"path/filepath"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// FileName is the name of the lock file beside a package's source.
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
		one := &schema.Field{Number: f.Number, Name: f.Name, Kind: f.Kind.Text(), Default: f.Default, Was: e.kindsBefore(f, base)}
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
