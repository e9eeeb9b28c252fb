// SPDX-License-Identifier: Apache-2.0

// Package model describes what persistgen found in a package: its records, the
// structs that are stored as messages, their fields with kinds, and their indexes.
//
// Package collector makes a model, package lock assigns the field numbers, and
// packages emitter and cost read it. The model also has the Go names of the code
// that is generated for a record.
package model

import (
	"cmp"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// Package is one user package: what is checked, locked and emitted together.
type Package struct {
	Name       string // package clause
	Path       string // import path
	Dir        string
	Constraint string // the //go:build expression of its records' files, or ""
	Types      *types.Package
	Elsewhere  []string   // names that tests, and files of other builds, declare
	Records    []*Record  // sorted by Go name
	Messages   []*Message // every struct that is encoded, records included; sorted by function name
}

// FindRecord returns the record with that key-stable name, or nil.
func (p *Package) FindRecord(name string) *Record {
	for _, r := range p.Records {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Record is a struct with marker fields.
type Record struct {
	GoName    string
	Name      string // key-stable: the Type marker, or the Go name
	At        token.Position
	Scatter   tags.Scatter
	Message   *Message
	Directory Directory
	IDField   *Field
	IDKind    IDKind
	Indexes   []*Index
	Values    []*Component // the fields with values that can be compared, those of nested structs too
	Hooks     []HookMethod

	References []*Reference // of its fields to other records
	Referrers  []*Reference // of other records to those of the type

	Versioned    bool // there is a field of type Version
	VersionAt    token.Position
	VersionField string // the name of that field; "" if it is blank
	Lock         string // what persist.lock says of it
}

// matchCase spells a generated name in upper case if the type is exported.
func (r *Record) matchCase(name string) string {
	if token.IsExported(r.GoName) {
		return name
	}
	return Unexported(name)
}

func (r *Record) Constructor() string { return r.matchCase("New" + Exported(r.GoName)) }

func (r *Record) StoreType() string { return r.GoName + "Store" }

func (r *Record) StoreOf() string { return r.GoName + "StoreOf" }

func (r *Record) FieldsVar() string { return r.GoName + "Fields" }

func (r *Record) SchemaVar() string { return Unexported(r.GoName) + "Schema" }

// Declarations are the package-level names that are generated for a record.
func (r *Record) Declarations() []string {
	names := []string{r.Constructor(), r.StoreType(), r.StoreOf(), r.SchemaVar()}
	if len(r.QueryFields()) > 0 {
		names = append(names, r.FieldsVar())
	}
	groups := map[string]bool{}
	for _, d := range r.Indexes {
		if len(d.CoverFields) > 0 {
			names = append(names, d.RowType(r), Reader(d.RowType(r)))
		}
		if group := GroupType(r, d.Components); d.HasGroups() && !groups[group] {
			groups[group] = true
			names = append(names, group, Reader(group))
		}
	}
	return names
}

// QueryFields are the fields that conditions of Find can name: the ID first, then those of the indexes, and
// of the predicates that a condition may imply. Of several with one Go name, as Address.City and
// AddressCity, it is the first, or the one with the shortest path.
func (r *Record) QueryFields() (list []*Component) {
	seen := map[string]bool{}
	add := func(components ...*Component) {
		for _, c := range components {
			if !seen[c.GoName()] && !c.isOpaque() {
				seen[c.GoName()] = true
				list = append(list, c)
			}
		}
	}
	if r.IDField != nil && r.IDField.Kind != nil {
		add(&Component{Steps: []*Field{r.IDField}, Element: r.IDField.Kind})
	}
	for _, d := range r.Indexes {
		if d.Kind == Value {
			add(d.Components...)
			add(d.Where.Components()...)
		}
	}
	add(slices.SortedStableFunc(slices.Values(r.Values), func(a, b *Component) int { return cmp.Compare(len(a.Steps), len(b.Steps)) })...)
	return list
}

// Deleted is the field that says when a record was deleted, nil if deletions remove records.
func (r *Record) Deleted() *Field { return r.Message.Stamped(schema.Deleted) }

// Present returns the predicate of the records that fulfil p and are not deleted.
func (r *Record) Present(p *Predicate) *Predicate {
	f := r.Deleted()
	if f == nil || f.Kind == nil {
		return p
	}
	one := Comparison{Component: &Component{Steps: []*Field{f}, Element: f.Kind}, Operator: "=", Constant: Zero}
	if f.Kind.Form == FormPointer {
		one.Component.Nullable, one.Component.Element, one.Constant = true, f.Kind.Elem, Null
	}
	if p == nil {
		return NewPredicate([]Comparison{one})
	}
	return NewPredicate(append(slices.Clone(p.Comparisons), one))
}

// Directory is where a record's keys are.
type Directory struct {
	At       token.Position
	Elements []DirectoryElement
}

// DirectoryElement is an element of the path with the field that it names.
type DirectoryElement struct {
	tags.PathElement
	Bound *Field // nil for a constant name
}

// NewDirectory returns the directory of a path. Its fields are not bound yet.
func NewDirectory(at token.Position, path []tags.PathElement) Directory {
	d := Directory{At: at}
	for _, e := range path {
		d.Elements = append(d.Elements, DirectoryElement{PathElement: e})
	}
	return d
}

// String is the path as it is written in the marker.
func (d Directory) String() string {
	parts := make([]string, len(d.Elements))
	for i, e := range d.Elements {
		parts[i] = e.Name
		if e.Field != "" {
			parts[i] = "{" + e.Field + "}"
		}
	}
	return strings.Join(parts, "/")
}

// StoredPath is the path as persist.lock and the headers of stores keep it: fields by
// their key-stable names, so that a renamed Go field changes nothing, and two
// fields that change places do.
func (d Directory) StoredPath() string {
	parts := make([]string, len(d.Elements))
	for i, e := range d.Elements {
		parts[i] = e.Name
		if e.Field != "" {
			parts[i] = "{" + e.Bound.Name + "}"
		}
		if e.Layer != "" {
			parts[i] += "(" + e.Layer + ")"
		}
	}
	return strings.Join(parts, "/")
}

// Fields returns the distinct fields of the path, in its order.
func (d Directory) Fields() []*Field {
	var list []*Field
	seen := map[string]bool{}
	for _, e := range d.Elements {
		if e.Bound != nil && !seen[e.Field] {
			seen[e.Field] = true
			list = append(list, e.Bound)
		}
	}
	return list
}

// IDKind is how the IDs of a record are made.
type IDKind int

// The ways to make IDs.
const (
	IDAssigned   IDKind = iota // by the user
	IDKazahana                 // idgen.NewID
	IDULID                     // idgen.NewULID
	IDULIDString               // idgen.NewULIDString
	IDUUID                     // idgen.NewUUID
)

// Describe names the ID kind for comments.
func (k IDKind) Describe() string {
	return [...]string{"assigned by the caller", "a kazahana ID", "a ULID", "a ULID in text form", "a UUID of version 7"}[k]
}

// Import paths of the run-time.
const (
	modulePath      = "github.com/kazahana-db/kazahana"
	PersistablePath = modulePath + "/persistable"
	PersistimplPath = modulePath + "/persistable/persistimpl"
	KVPath          = modulePath + "/kv"
	IDGenPath       = modulePath + "/idgen"
	TuplePath       = modulePath + "/tuple"
	TextPath        = PersistablePath + "/persistabletext"
	ULIDPath        = "github.com/oklog/ulid/v2"
)
