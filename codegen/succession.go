// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// against is a lock with which the next one is compared, and where it comes
// from: a file, or REVISION:FILE.
type against struct {
	lock *schema.Schema
	name string
}

// where names a line of a lock.
func (a against) where(line int) string { return fmt.Sprintf("%s:%d", a.name, line) }

func (e *evolution) lockFile() string { return e.relative(filepath.Join(e.pkg.dir, lockName)) }

// check refuses what data stored with the old lock would not survive.
func (e *evolution) check(old against) {
	for _, b := range old.lock.Blocks {
		if !b.IsType {
			continue
		}
		for _, d := range schema.Succession(old.lock, e.next, b.Name) {
			e.difference(old, b.Name, d)
		}
		if r := e.pkg.findRecord(b.Name); r != nil {
			e.scatter(old, r, b)
			for _, d := range r.indexes {
				e.index(old, r, d, b)
			}
		}
	}
}

// findRecord returns the record with that key-stable name, or nil.
func (p *pkg) findRecord(name string) *record {
	for _, r := range p.records {
		if r.name == name {
			return r
		}
	}
	return nil
}

// difference reports one change of a type, or notes its consequences if it is
// allowed.
func (e *evolution) difference(old against, name string, d schema.Difference) {
	at, subject := token.Position{Filename: filepath.Join(e.pkg.dir, lockName)}, name
	r := e.pkg.findRecord(name)
	f := e.owner[d.HereField]
	switch {
	case f != nil:
		at, subject = f.at, f.subject
	case r != nil:
		at, subject = r.at, r.goName
	}
	if d.Allowed {
		e.note("%s: %s became %s: %s", subject, d.There, d.Here, strings.Join(d.Consequences, "; "))
		return
	}
	switch {
	case r != nil && d.What == schema.Directory:
		at = r.directory.at
	case r != nil && d.What == schema.ID:
		at, subject = r.idField.at, r.idField.subject
	}
	e.add(at, subject, "%s", e.refusal(old, f, d))
}

// refusal says what is wrong with a change, and what to do.
func (e *evolution) refusal(old against, f *field, d schema.Difference) string {
	switch d.What {
	case schema.Origin:
		return fmt.Sprintf("the type is of the package %s in %s, of %s here; if it moved, write \"origin %s\" into %s",
			d.There, old.where(d.ThereBlock.Line), d.Here, d.There, e.lockFile())
	case schema.Directory:
		return fmt.Sprintf("the directory changed from %s to %s (%s); stored records would not be found, or those of another directory would be: "+
			"restore it, or give the type another name with persistable.Type; where there is no data, delete the line from the lock",
			d.There, d.Here, old.where(d.ThereBlock.DirectoryLine))
	case schema.ID:
		return fmt.Sprintf("the ID's type changed from %s to %s (%s); stored records would not be found: restore it, or make a new type",
			d.There, d.Here, old.where(d.ThereBlock.IDLine))
	case schema.FieldName, schema.FieldNumber, schema.Forgotten:
		return e.numberRefusal(old, d)
	case schema.FieldKind:
		return e.kindRefusal(old, f, d)
	case schema.Moved:
		return fmt.Sprintf("%s (%s) became %s, which has another number: its stored values would be read as zero; keep the old field beside the new one "+
			"until the values of all records are copied, or, if they may be left behind, give the new field another name with name=",
			d.There, old.where(d.ThereField.Line), d.Here)
	default:
		return fmt.Sprintf("the struct %s (%s) became %s, which lacks some of its fields: if it was renamed, name it so with a blank field, "+
			"_ struct{} `persist:\"name=%s\"`, or tag this field was=%s; otherwise add a new field and leave this one out",
			d.There, old.where(d.ThereField.Line), d.Here, d.There, d.ThereField.Kind)
	}
}

// numberRefusal is the refusal where names and numbers do not agree: within one
// package's history only if two structs became one.
func (e *evolution) numberRefusal(old against, d schema.Difference) string {
	here, line := e.lockFile(), d.ThereBlock.Line
	remedy := "restore " + here + " from version control, or merge the two, and run persistgen"
	if d.ThereField != nil {
		line = d.ThereField.Line
	}
	if old.lock == e.old {
		here, remedy = "the source", "two structs that became one had different numbers: keep both"
	}
	return fmt.Sprintf("%s (%s); stored values would be lost or mixed up: %s", d.Text(old.name, here), old.where(line), remedy)
}

// kindRefusal is the refusal of a changed kind.
func (e *evolution) kindRefusal(old against, f *field, d schema.Difference) string {
	text := fmt.Sprintf("its type changed from %s to %s (%s)", d.There, d.Here, old.where(d.ThereField.Line))
	remedy := "restore the type, or add a new field and leave this one out"
	switch {
	case len(d.Consequences) == 0:
		return text + "; stored records could not be read: " + remedy
	case f == nil || f.foreign:
		return fmt.Sprintf("%s: %s; if that is meant, make the line \"field %d %s %s was %s\"; otherwise %s",
			text, strings.Join(d.Consequences, "; "), d.Number, d.ThereField.Name, d.Here, d.There, remedy)
	}
	return fmt.Sprintf("%s: %s; if that is meant, tag it was=%s; otherwise %s", text, strings.Join(d.Consequences, "; "), d.There, remedy)
}

// scatter refuses another number of shards: stored records stay where they are.
func (e *evolution) scatter(old against, r *record, was *schema.Block) {
	now := r.scatter.shards
	if was.Scatter == now {
		return
	}
	at, line, remedy := r.scatter.at, was.ScatterLine, fmt.Sprintf("put the line \"scatter %d\" into the block", now)
	if at.Line == 0 {
		at, remedy = r.at, "delete the line"
	}
	if line == 0 {
		line = was.Line
	}
	e.add(at, r.goName, "the scattering changed from %s to %s (%s); records that are stored stay as they are, in each directory that has any: "+
		"restore it, and copy records into a new type to scatter them otherwise; where there is no data, or only new directories are meant, %s",
		scatter{shards: was.Scatter}.text(), r.scatter.text(), old.where(line), remedy)
}

// index refuses an index whose name is that of entries of another layout.
func (e *evolution) index(old against, r *record, d *indexDef, block *schema.Block) {
	was := block.Index(d.key())
	if was == nil || was.Signature == d.lockSignature() {
		return
	}
	e.add(d.at, r.goName, "the keys of the index %s changed from %s to %s (%s); old entries could not be used: give the index a new name with name=, which builds it anew",
		d.key(), was.Signature, d.lockSignature(), old.where(was.Line))
}
