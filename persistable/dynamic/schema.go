// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Schema is what the header of a store says. It is a copy.
type Schema struct {
	Type      string
	Origin    string // the Go package in which the type was first declared
	Directory string // its path in the schema; {Field} is the value of a field
	ID        string // the kind of the ids in keys: int, uuid, string, bytes, bool, float, double
	MadeIDs   bool   // Create makes an id for a record that has none
	Scatter   int    // over how many shards the records are scattered; 0 for not at all
	Versions  bool   // records have versions, and the store has a change feed

	Fields   []Field   // by number; the first is the id
	Messages []Message // the structs nested in records, by name
	Indexes  []Index   // by name in keys

	Text    string // the schema as text, a block of persist.lock
	Refusal error  // why nothing may be written; nil where writes are allowed
}

// Message is a struct nested in records.
type Message struct {
	Name   string
	Fields []Field
}

// Field is a field of a record or of a message.
type Field struct {
	Number   int32
	Name     string
	Kind     string   // as docs/layout.md says: int64, *string, []message(Address), …
	Default  string   // what a record without the field has, a Go literal; "" for the zero value
	Was      []string // the kinds that earlier programs gave it
	Argument bool     // it is a {Field} of the directory
}

// Index is an index of the header.
type Index struct {
	Name    string // without the suffix of unique indexes
	KeyName string // in keys
	Layout  string
	State   index.State

	Kind        index.Kind
	Unique      bool
	Fields      []string // of the key, or of the group
	Descending  []string // those of Fields in descending order
	Of          string   // the field that a sum adds
	Cover       bool     // entries have a copy of the record
	CoverFields []string // entries have a copy of these fields
	Where       string   // the condition of a partial index
	Scatter     int

	// Foreign is why this package can neither read nor build the index; "" if it can. If
	// such an index is maintained by writes at all, a write to the store says.
	Foreign string
}

// newSchema returns the view of a type.
func newSchema(t *recordType, s *erased.Schema) *Schema {
	v := &Schema{
		Type: t.name, Origin: t.root.Origin, Directory: t.root.Directory, ID: t.root.ID, MadeIDs: s.IDs.Made(),
		Scatter: t.root.Scatter, Versions: t.hasVersions(), Text: s.Lock, Refusal: s.Dynamic.Refusal,
	}
	for _, b := range t.catalog.Schema().Blocks {
		fields := t.newFields(b)
		if b.IsType {
			v.Fields = fields
			continue
		}
		v.Messages = append(v.Messages, Message{b.Name, fields})
	}
	for _, entry := range t.catalog.Indexes() {
		v.Indexes = append(v.Indexes, t.newIndex(entry.KeyName, entry.Layout, entry.State))
	}
	return v
}
