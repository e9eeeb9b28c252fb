// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

func (e *Evolution) LockFile() string { return e.Relative(filepath.Join(e.Package.Dir, FileName)) }

// lockPosition is the position of a line of the package's lock file.
func (e *Evolution) lockPosition(line int) token.Position {
	return token.Position{Filename: filepath.Join(e.Package.Dir, FileName), Line: line}
}

// lineOf is the line of a type's block in the lock file; the first one if it has none.
func (e *Evolution) lineOf(name string) int {
	if b := e.old.Block(name); b != nil {
		return max(b.Line, 1)
	}
	return 1
}

// Check refuses what data stored with the old lock would not survive.
func (e *Evolution) Check(old Predecessor) {
	for _, b := range old.Lock.Blocks {
		if !b.IsType {
			continue
		}
		for _, d := range schema.Succession(old.Lock, e.Next, b.Name) {
			e.reportDifference(old, b.Name, d)
		}
		if r := e.Package.FindRecord(b.Name); r != nil {
			e.checkScatter(old, r, b)
			for _, d := range r.Indexes {
				e.checkIndex(old, r, d, b)
			}
			e.checkDropped(old, r, b)
		}
	}
}

// CheckMoved refuses what the data of a type would not survive that another package had, in the same
// directory. It reports whether old has the type.
func (e *Evolution) CheckMoved(old Predecessor, r *model.Record) bool {
	b := old.Lock.Block(r.Name)
	if b == nil || !b.IsType || b.Removed || b.Directory != r.Directory.StoredPath() {
		return false
	}
	one := *old.Lock
	one.Blocks = nil
	for _, b := range old.Lock.Blocks {
		c := *b
		c.IsType = c.IsType && c.Name == r.Name
		one.Blocks = append(one.Blocks, &c)
	}
	e.Check(Predecessor{&one, old.Name})
	return true
}

// reportDifference reports one change of a type, or notes its consequences if it is
// allowed.
func (e *Evolution) reportDifference(old Predecessor, name string, d schema.Difference) {
	at, subject := e.lockPosition(e.lineOf(name)), name
	r := e.Package.FindRecord(name)
	f := e.owner[d.HereField]
	switch {
	case f != nil:
		at, subject = f.At, f.Subject
	case r != nil:
		at, subject = r.At, r.GoName
	}
	if d.Aspect == schema.Removed {
		e.reportRemoved(old, r, d)
		return
	}
	if d.Allowed {
		e.Note(at, "%s: %s became %s: %s", subject, d.There, d.Here, strings.Join(d.Consequences, "; "))
		return
	}
	switch {
	case r != nil && d.Aspect == schema.Directory:
		at = r.Directory.At
	case r != nil && d.Aspect == schema.ID:
		at, subject = r.IDField.At, r.IDField.Subject
	case d.Aspect == schema.Nameless:
		at, subject = e.lockPosition(d.HereConstant.Line), d.HereConstant.Name
	case d.HereConstant != nil:
		at, subject = e.constantAt(d), d.HereConstant.Name
	}
	e.Add(at, subject, "%s", e.refusal(old, f, d))
}

// refusal says what is wrong with a change, and what to do.
func (e *Evolution) refusal(old Predecessor, f *model.Field, d schema.Difference) string {
	switch d.Aspect {
	case schema.Origin:
		return fmt.Sprintf("the type is of the package %s in %s, of %s here; if it moved, write \"origin %s\" into %s",
			d.There, old.describeLine(d.ThereBlock.Line), d.Here, d.There, e.LockFile())
	case schema.Directory:
		return fmt.Sprintf("the directory changed from %s to %s (%s); stored records would not be found, or those of another directory would be: "+
			"restore it, or give the type another name with persistable.Type; where there is no data, delete the line from the lock",
			d.There, d.Here, old.describeLine(d.ThereBlock.DirectoryLine))
	case schema.ID:
		return fmt.Sprintf("the ID's type changed from %s to %s (%s); stored records would not be found: restore it, or make a new type",
			d.There, d.Here, old.describeLine(d.ThereBlock.IDLine))
	case schema.FieldName, schema.FieldNumber, schema.Forgotten:
		return e.numberRefusal(old, d)
	case schema.FieldKind:
		return e.kindRefusal(old, f, d)
	case schema.FieldDefault:
		return e.defaultRefusal(old, d)
	case schema.Renumbered, schema.Reused, schema.Nameless:
		return e.constantRefusal(old, f, d)
	case schema.Moved:
		return fmt.Sprintf("%s (%s) became %s, which has another number: its stored values would be read as zero; keep the old field as well "+
			"until the values of all records are copied, or, to leave them behind, give the new field another name with name=",
			d.There, old.describeLine(d.ThereField.Line), d.Here)
	default:
		return fmt.Sprintf("the struct %s (%s) became %s, which lacks some of its fields: if it was renamed, name it so with a blank field, "+
			"_ struct{} `persist:\"name=%s\"`, or tag this field was=%s; otherwise add a new field and leave this one out",
			d.There, old.describeLine(d.ThereField.Line), d.Here, d.There, d.ThereField.Kind)
	}
}

// numberRefusal is the refusal where names and numbers do not agree: within one
// package's history only if two structs became one.
func (e *Evolution) numberRefusal(old Predecessor, d schema.Difference) string {
	here, line := e.LockFile(), d.ThereBlock.Line
	remedy := "restore " + here + " from version control, or merge the two, and run persistgen"
	if d.ThereField != nil {
		line = d.ThereField.Line
	}
	if old.Lock == e.old {
		here, remedy = "the source", "two structs that became one had different numbers: keep both"
	}
	return fmt.Sprintf("%s (%s); stored values would be lost or mixed up: %s", d.Text(old.Name, here), old.describeLine(line), remedy)
}

// defaultRefusal is the refusal of a changed default.
func (e *Evolution) defaultRefusal(old Predecessor, d schema.Difference) string {
	return fmt.Sprintf("its default changed from %s to %s (%s); records that lack the field would have another value than their index entries say: "+
		"restore it, or add a new field; where there is no data, write the line %s",
		d.There, d.Here, old.describeLine(d.ThereField.Line), d.HereField.Text())
}

// kindRefusal is the refusal of a changed kind.
func (e *Evolution) kindRefusal(old Predecessor, f *model.Field, d schema.Difference) string {
	text := fmt.Sprintf("its type changed from %s to %s (%s)", d.There, d.Here, old.describeLine(d.ThereField.Line))
	remedy := "restore the type, or add a new field and leave this one out"
	switch {
	case len(d.Consequences) == 0:
		return text + "; stored records could not be read: " + remedy + "; where there is no data, write the line " + d.HereField.Text()
	case f == nil || f.Foreign:
		return fmt.Sprintf("%s: %s; if you want that, change the line to \"field %d %s %s was %s\"; otherwise %s",
			text, strings.Join(d.Consequences, "; "), d.Number, d.ThereField.Name, d.Here, d.There, remedy)
	}
	return fmt.Sprintf("%s: %s; if you want that, tag the field was=%s; otherwise %s", text, strings.Join(d.Consequences, "; "), d.There, remedy)
}

// reportRemoved reports a type or field that left the source: a note while its author
// generates, and a fault against what is deployed, until the lock confirms it.
func (e *Evolution) reportRemoved(old Predecessor, r *model.Record, d schema.Difference) {
	if d.ThereField == nil {
		if old.Lock != e.old { // keepRemoved noted it
			e.Add(e.lockPosition(d.HereBlock.Line), d.ThereBlock.Name, "the type left the source (%s), and its records would not be found: if it was renamed, name it %s by persistable.Type; "+
				"to leave its records behind, write confirmed at the end of this line", old.describeLine(d.ThereBlock.Line), d.ThereBlock.Name)
		}
		return
	}
	subject := d.ThereBlock.Name + "." + d.ThereField.Name
	renamed := e.renamedTo(d)
	if old.Lock != e.old {
		remedy := ""
		for _, f := range renamed {
			remedy += fmt.Sprintf("if it is %s now, tag that name=%s; ", f.Subject, d.ThereField.Name)
		}
		e.Add(e.lockPosition(d.HereField.Line), subject, "the field left the source (%s), and its stored values would not be read: %sto leave them behind, write confirmed at the end of this line",
			old.describeLine(d.ThereField.Line), remedy)
		return
	}
	for _, f := range renamed {
		e.Note(f.At, "%s was removed and %s is new, both %s; if it was renamed, tag it name=%s, or the stored values are lost", subject, f.Subject, d.ThereField.Kind, d.ThereField.Name)
	}
	if len(renamed) == 0 {
		e.Note(e.lockPosition(d.ThereField.Line), "%s was removed, and its stored values are not read any more; to confirm that for -against, write the word confirmed at the end of this line", subject)
	}
}

// checkDropped reports unique indexes that left the source, unless the lock confirms it.
func (e *Evolution) checkDropped(old Predecessor, r *model.Record, was *schema.Block) {
	for _, x := range was.Indexes {
		now := e.Next.Block(was.Name).Index(x.Name)
		if x.Removed || !x.IsUnique() || now == nil || !now.Removed || now.Confirmed {
			continue
		}
		if old.Lock == e.old {
			e.Note(e.lockPosition(x.Line), "the unique index %s was removed: its values need not be unique any more; to confirm that for -against, write the word confirmed at the end of this line", x.Name)
			continue
		}
		e.Add(e.lockPosition(now.Line), r.GoName, "the unique index %s left the source (%s): its values would not be unique any more; restore it, or, if that is meant, write confirmed at the end of this line",
			x.Name, old.describeLine(x.Line))
	}
}

// checkScatter refuses another number of shards: stored records stay where they are.
func (e *Evolution) checkScatter(old Predecessor, r *model.Record, was *schema.Block) {
	now := r.Scatter.Shards
	if was.Scatter == now {
		return
	}
	at, line, remedy := r.Scatter.At, was.ScatterLine, fmt.Sprintf("put the line \"scatter %d\" into the block", now)
	if at.Line == 0 {
		at, remedy = r.At, "delete the line"
	}
	if line == 0 {
		line = was.Line
	}
	e.Add(at, r.GoName, "the scattering changed from %s to %s (%s); records that are stored stay as they are, in each directory that has any: "+
		"restore it, and copy records into a new type to scatter them otherwise; where there is no data, or only new directories are meant, %s",
		tags.Scatter{Shards: was.Scatter}.Text(), r.Scatter.Text(), old.describeLine(line), remedy)
}

// checkIndex notes that an index is new, and refuses one if entries of another layout have its name.
func (e *Evolution) checkIndex(old Predecessor, r *model.Record, d *model.Index, block *schema.Block) {
	switch was := block.Index(d.Key()); {
	case was == nil && old.Lock == e.old && d.Unique:
		e.Note(d.At, "the index %s is new: in a store that has records its queries return persistable.ErrNotBuilt, and it does not keep duplicates out, until persistable.Migrate has built it", d.Key())
	case was == nil && old.Lock == e.old:
		e.Note(d.At, "the index %s is new: in a store that has records its queries return persistable.ErrNotBuilt until persistable.Migrate has built it", d.Key())
	case was != nil && was.Signature != d.LockSignature():
		e.Add(d.At, r.GoName, "the keys of the index %s changed from %s to %s (%s); old entries could not be used: give the index a new name with name=, which builds it anew",
			d.Key(), was.Signature, d.LockSignature(), old.describeLine(was.Line))
	}
}

// addEnums adds the enumerations of a field to the next lock. They go on from those that
// the field had, whatever their types are called now, or else from those of their names.
func (e *Evolution) addEnums(f *schema.Field, enums []*model.Enum, was *schema.Field) {
	for i, one := range enums {
		f.Enums = append(f.Enums, one.Name)
		if e.Next.Enum(one.Name) != nil {
			continue
		}
		base := e.old.Enum(one.Name)
		if was != nil && i < len(was.Enums) {
			base = e.old.Enum(was.Enums[i])
		}
		e.Next.Enums = append(e.Next.Enums, e.nextEnum(one, base))
	}
}

// nextEnum makes an enumeration: what the lock had, in its order, then what is new.
// A constant that left the source stays, unless another has its value by the option was.
func (e *Evolution) nextEnum(enum *model.Enum, base *schema.Enum) *schema.Enum {
	next := &schema.Enum{Name: enum.Name}
	inSource := map[string]model.EnumConstant{}
	for _, c := range enum.Constants {
		inSource[c.Name] = c
	}
	renamed := map[string]bool{}
	if base != nil {
		for _, was := range base.Constants {
			kept := *was
			now, found := inSource[was.Name]
			kept.Gone, kept.Confirmed = !found, was.Confirmed && !found
			if found && !was.Any {
				kept.Value = now.Value
			}
			for _, name := range was.Was {
				renamed[name] = renamed[name] || found
			}
			next.Constants = append(next.Constants, &kept)
		}
	}
	for _, c := range enum.Constants {
		if next.Constant(c.Name) == nil {
			next.Constants = append(next.Constants, &schema.Constant{Name: c.Name, Value: c.Value})
		}
	}
	next.Constants = slices.DeleteFunc(next.Constants, func(c *schema.Constant) bool { return c.Gone && renamed[c.Name] })
	for _, c := range next.Constants {
		if now, found := inSource[c.Name]; found {
			e.constants[c] = now
		}
	}
	return next
}

// keepEnums keeps the enumerations of fields that are reserved.
func (e *Evolution) keepEnums() {
	for _, b := range e.Next.Blocks {
		for _, f := range b.Fields {
			for _, name := range f.Enums {
				if was := e.old.Enum(name); was != nil && e.Next.Enum(name) == nil {
					e.Next.Enums = append(e.Next.Enums, was)
				}
			}
		}
	}
}

// constantAt is where a constant of the next lock stands in the source.
func (e *Evolution) constantAt(d schema.Difference) token.Position {
	return e.constants[d.HereConstant].At
}

// constantRefusal is the refusal of a constant that would give stored values another
// meaning.
func (e *Evolution) constantRefusal(old Predecessor, f *model.Field, d schema.Difference) string {
	was, now := d.ThereConstant, d.HereConstant
	line := old.describeLine(was.Line)
	if d.Aspect == schema.Nameless {
		return fmt.Sprintf("the constant left the source (%s), and the field %s may store its value %s: restore it; if it has a new name, give the new one its value, and change its line in %s to %q; "+
			"to leave stored values without a constant, write confirmed at the end of this line",
			line, f.Subject, was.Value, e.LockFile(), "constant NEW "+was.Value+" was "+was.Name)
	}
	if d.Aspect == schema.Reused {
		return fmt.Sprintf("the value %s of the field %s was %s (%s), and is %s here: stored values that mean %s would be read as %s; give %s a value of its own; "+
			"if it is only a new name, change the line of %s in %s to %q",
			was.Value, f.Subject, was.Name, line, now.Name, was.Name, now.Name, now.Name, was.Name, e.LockFile(), "constant "+now.Name+" "+now.Value+" was "+was.Name)
	}
	return fmt.Sprintf("the constant was %s (%s), and is %s here: the field %s stores the value, so each stored %s would be read as %s; restore its value, and add new constants after the last; "+
		"if no record has it, because it is a count or a limit, change its line in %s to %q",
		was.Value, line, now.Value, f.Subject, was.Name, e.Next.ValueName(now, was.Value), e.LockFile(), "constant "+now.Name+" any")
}
