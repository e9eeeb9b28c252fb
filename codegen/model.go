// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"go/token"
	"go/types"
	"strings"
)

// pkg is one user package: what is checked, locked and emitted together.
type pkg struct {
	name       string // package clause
	path       string // import path
	dir        string
	constraint string // the //go:build expression of its records' files, or ""
	types      *types.Package
	records    []*record  // sorted by Go name
	messages   []*message // every struct that is encoded, records included; sorted by function name
}

// record is a struct with marker fields.
type record struct {
	goName    string
	name      string // key-stable: the Type marker, or the Go name
	at        token.Position
	scatter   scatter
	message   *message
	directory directory
	idField   *field
	id        idKind
	indexes   []*indexDef
	lock      string // what persist.lock says of it
}

// message is a struct that is stored as one protobuf message.
type message struct {
	goName    string
	name      string // in persist.lock: key-stable
	named     *types.Named
	at        token.Position
	fields    []*field // flattened, in declaration order
	literal   []*slot  // the same as Go sees them, for composite literals
	function  string   // suffix of its append and decode functions
	recursive bool     // contains itself, directly or not
	record    *record  // if the struct has markers
	reason    string   // why a struct of another package cannot be stored
}

// slot is one Go field of a struct: a stored field or an embedded struct.
type slot struct {
	goName   string
	field    *field // nil for an embedded struct
	embedded []*slot
	typ      types.Type
}

// field is one stored field.
type field struct {
	goName  string
	name    string   // key-stable: name=, or the Go name
	path    []string // from the message through embedded structs, ending in goName
	at      token.Position
	subject string
	options fieldOptions
	typ     *kind
	number  int32
	foreign bool // of a struct of another package, which cannot be tagged here
	short   bool // the promoted selector v.goName is unambiguous
}

// selector is the Go expression of the field below the receiver.
func (f *field) selector(receiver string) string {
	if f.short {
		return receiver + "." + f.goName
	}
	return receiver + "." + strings.Join(f.path, ".")
}

// indexDef is one index of a record.
type indexDef struct {
	name       string // as it stands in keys, without "_unique"
	unique     bool
	cover      bool
	scatter    scatter
	at         token.Position
	components []*component
}

// key is the index's name in keys and in persist.lock.
func (d *indexDef) key() string {
	if d.unique {
		return d.name + "_unique"
	}
	return d.name
}

// sparse names the components that keep a record out of the index: by a null in
// a unique index, or by an empty slice.
func (d *indexDef) sparse() []string {
	var names []string
	for _, c := range d.components {
		if c.slice || d.unique && c.nullable {
			names = append(names, c.name())
		}
	}
	return names
}

// goFields joins the Go names of components, as method names do.
func goFields(components []*component) string {
	var b strings.Builder
	for _, c := range components {
		b.WriteString(c.goName())
	}
	return b.String()
}

// component is one field of an index: a path of fields through nested structs.
type component struct {
	steps    []*field
	nullable bool  // some step is a pointer
	element  *kind // the kind that goes into the key: pointers and one slice taken off
	slice    bool
}

// goName joins the Go names of the steps: AddressCity.
func (c *component) goName() string {
	var b strings.Builder
	for _, s := range c.steps {
		b.WriteString(exported(s.goName))
	}
	return b.String()
}

// name joins the key-stable names of the steps: Address.City.
func (c *component) name() string {
	names := make([]string, len(c.steps))
	for i, s := range c.steps {
		names[i] = s.name
	}
	return strings.Join(names, ".")
}
