// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/fold"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
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

	Rules     []string   // min=, max=, maxlen= and match=, each with a Go literal, which writes check; created, updated, deleted: writes set it; ref=, with the directory and type of the records to which it refers
	Constants []Constant // with the option enum: the names of values
}

// Constant is a named value of a field.
type Constant struct{ Name, Value string } // the value is a Go literal

// Index is an index of the header.
type Index struct {
	Name    string // without the suffix of unique indexes
	KeyName string // in keys
	Layout  string
	State   persistable.IndexState

	Kind        string // as in [persistable.IndexDefinition]
	Unique      bool
	Fields      []string // of the key, or of the group
	Descending  []string // those of Fields in descending order
	Folded      []string // those of Fields that are folded
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

// newFields returns the view of a block's fields.
func (t *recordType) newFields(b *schema.Block) (all []Field) {
	for _, f := range b.Fields {
		argument := b.IsType && strings.Contains(b.Directory, "{"+f.Name+"}")
		all = append(all, Field{f.Number, f.Name, f.Kind, f.Default, append([]string(nil), f.Was...), argument, slices.Clone(f.Rules.Words), t.newConstants(f)})
	}
	return all
}

// newConstants returns the view of a field's enumeration.
func (t *recordType) newConstants(f *schema.Field) (all []Constant) {
	for _, name := range f.Enums {
		e := t.catalog.Schema().Enum(name)
		if e == nil {
			continue // the header is of a program that did not keep names
		}
		for _, c := range e.Constants {
			if !c.Any {
				all = append(all, Constant{c.Name, c.Value})
			}
		}
	}
	return all
}

// newIndex returns the view of an index.
func (t *recordType) newIndex(keyName, layout string, state index.State) Index {
	v := Index{Name: keyName, KeyName: keyName, Layout: layout, State: state, Foreign: t.foreign[keyName]}
	d, err := index.ParseLayout(keyName, layout)
	if err != nil {
		return v // Foreign says why
	}
	v.Name, v.Kind, v.Unique, v.Fields, v.Descending, v.Folded, v.Of = d.Name, string(d.Kind), d.Unique, d.Fields, d.Descending, d.Folded, d.Of
	v.Cover, v.CoverFields, v.Where, v.Scatter = d.Cover, d.CoverFields, d.Where, int(d.Scatter)
	return v
}

// newSchema returns the type for the engine, as persistgen writes one. at is where the
// store is.
func (t *recordType) newSchema(db *persistable.DB, at *position) *erased.Schema {
	s := &erased.Schema{
		Type: t.name, Directory: at.elements, Lock: t.catalog.Schema().Text(),
		IDs:    t.newIDs(db),
		ID:     func(v any) any { return &recordOf(v).id },
		Encode: func(b []byte, v any) ([]byte, error) { return recordOf(v).encode(b) },
		Decode: t.decode, Known: t.body.Known(), Values: t.appendValues,
		Dynamic: &erased.Dynamic{Refusal: at.refusal},
	}
	if len(at.args) > 0 {
		s.CheckArgs, s.FillArgs = t.checkArgs, t.fillArgs
	}
	if t.body.IsBounded() {
		s.Check = checkRecord
	}
	if t.isStamped() {
		s.Stamp = t.stamp
	}
	s.Deletion = t.newDeletion()
	if t.hasVersions() {
		s.Version = func(v any) *[12]byte { return (*[12]byte)(&recordOf(v).version) }
	}
	t.addIndexes(s)
	return s
}

// isStamped reports whether the header says that writes set a field.
func (t *recordType) isStamped() bool {
	return t.stampedAt(schema.Created) != nil || t.stampedAt(schema.Updated) != nil
}

// stampedAt returns the path of the field that has an option, nil if there is none.
func (t *recordType) stampedAt(option string) *message.Path {
	for _, f := range t.root.Fields {
		if p, err := t.body.Path(f.Name); err == nil && f.Kind == "time" && f.Rules.Has(option) {
			return p
		}
	}
	return nil
}

// stamp sets the fields that have the options created and updated, as the code of persistgen does.
func (t *recordType) stamp(v any, set func(created, updated *time.Time)) {
	r := recordOf(v)
	paths := [2]*message.Path{t.stampedAt(schema.Created), t.stampedAt(schema.Updated)}
	var times [2]*time.Time
	for i, p := range paths {
		if p != nil {
			one, _ := p.Get(r.body).(time.Time) // as the kind is
			times[i] = &one
		}
	}
	set(times[0], times[1])
	body := r.body.Clone()
	for i, p := range paths {
		if p != nil {
			p.Set(body, *times[i])
		}
	}
	r.body = body
}

// newDeletion returns how records are deleted by a field, nil if no field has the option deleted.
func (t *recordType) newDeletion() *erased.Deletion {
	for _, f := range t.root.Fields {
		p, err := t.body.Path(f.Name)
		if err != nil || !f.Rules.Has(schema.Deleted) || !slices.Contains([]string{"time", "*time"}, f.Kind) {
			continue
		}
		return &erased.Deletion{
			Field: f.Name,
			Is: func(v any) bool {
				at, isSet := p.Get(recordOf(v).body).(time.Time)
				return isSet && (f.Kind == "*time" || !at.IsZero())
			},
			Set: func(v any, at time.Time) {
				r := recordOf(v)
				body := r.body.Clone()
				p.Set(body, at)
				r.body = body
			},
		}
	}
	return nil
}

// checkRecord compares the values of a record with the bounds that the header has.
func checkRecord(v any) (field, reason string) {
	if err := recordOf(v).body.Check(); err != nil {
		return err.Path, err.Reason
	}
	return "", ""
}

// addIndexes adds the indexes that need no Go code.
func (t *recordType) addIndexes(s *erased.Schema) {
	for _, p := range t.programs {
		s.Indexes = append(s.Indexes, *p.Definition())
		if len(p.Definition().CoverFields) > 0 {
			s.Covers = t.appendCover
		}
	}
	if len(s.Indexes) > 0 {
		s.Dynamic.Entries = t.appendEntries
	}
}

// newIDs returns how ids are made and packed: they are made as the ids of generated code
// are, for kazahana IDs, ULIDs in text form, and ids of 16 bytes.
func (t *recordType) newIDs(db *persistable.DB) *erased.IDs[ID] {
	ids := &erased.IDs[ID]{IsZero: t.isNone, Append: t.appendID, Parse: t.parseID}
	if t.id.Kind() == "id" {
		ids.Fault = kazahanaFault
	}
	if makeKey := keyMaker(db, t.id.Kind()); makeKey != nil {
		ids.New = func(ctx context.Context) (ID, error) {
			key, err := makeKey(ctx)
			return ID{string(key)}, err
		}
	}
	return ids
}

// kazahanaFault is the rule of generated code for kazahana ids.
func kazahanaFault(id ID) string {
	v, _, err := tuple.ReadInt([]byte(id.packed))
	if err != nil {
		return err.Error()
	}
	return erased.NegativeFault(v)
}

var (
	ulids idgen.ULIDSource
	uuids idgen.UUIDSource
)

// keyMaker returns what makes ids of a kind as tuple elements; nil if the program assigns
// them. The schema does not tell UUIDs from ULIDs: a UUID of version 7 is both.
func keyMaker(db *persistable.DB, kind string) func(ctx context.Context) ([]byte, error) {
	switch kind {
	case "id":
		return func(ctx context.Context) ([]byte, error) {
			id, err := db.IDs().Next(ctx)
			return tuple.AppendInt(nil, int64(id)), err
		}
	case "string":
		return func(ctx context.Context) ([]byte, error) {
			id, err := ulids.Next(ctx)
			return tuple.AppendString(nil, id.String()), err
		}
	case "bytes[16]":
		return func(ctx context.Context) ([]byte, error) {
			id, err := uuids.Next(ctx)
			return tuple.AppendUUID(nil, tuple.UUID(id)), err
		}
	}
	return nil
}

// decode reads a stored record.
func (t *recordType) decode(b []byte, s *wire.Strings) (any, error) {
	m, err := t.body.Decode(b, s)
	if err != nil {
		return nil, err
	}
	return &Record{typ: t, id: t.idOf(m), body: m}, nil
}

// appendValues appends the value of a field as a tuple element; of a list, each element.
func (t *recordType) appendValues(field string, b []byte, v any) []byte {
	p, err := t.body.Path(field)
	if err != nil {
		return b // conditions are made of fields that there are
	}
	if !t.folded[field] {
		return p.AppendKey(b, recordOf(v).body)
	}
	for elements := p.AppendKey(nil, recordOf(v).body); len(elements) > 0; {
		rest, err := tuple.Skip(elements)
		if err != nil {
			return b
		}
		b = append(b, fold.Element(elements[:len(elements)-len(rest)])...)
		elements = rest
	}
	return b
}

// payloads are buffers for encoded records.
var payloads = sync.Pool{New: func() any { return new([]byte) }}

// appendEntries adds the entries of a record in the i-th index. They are computed from its
// bytes.
func (t *recordType) appendEntries(i int, e *index.Entries, v any) error {
	buf := payloads.Get().(*[]byte)
	defer payloads.Put(buf)
	payload, err := recordOf(v).encode((*buf)[:0])
	if err != nil {
		return err
	}
	*buf = payload
	if err := t.programs[i].Entries(payload, e); err != nil {
		return fmt.Errorf("dynamic: the entries of a %s in the index %s: %w", t.name, t.programs[i].Definition().KeyName(), err)
	}
	return nil
}

// appendCover appends what entries in the i-th index copy of a record. The record has
// entries: it can be encoded and read.
func (t *recordType) appendCover(i int, b []byte, v any) []byte {
	payload, err := recordOf(v).encode(nil)
	if err != nil {
		return b
	}
	b, _ = t.programs[i].AppendCover(b, payload)
	return b
}

// checkKinds returns an error if an index has keys of other kinds than conditions on its
// fields would have: it was built by programs from before a field could be null or was folded, or after
// it could not any more. Such an index is maintained as those programs do, and not read.
func (t *recordType) checkKinds(d *index.Definition) error {
	for i, name := range d.Fields {
		p, err := t.body.Path(name)
		if err != nil {
			return err
		}
		if have := d.Kinds()[i]; have != p.KeyKind() {
			return fmt.Errorf("the index has the field %s as %s, and the schema as %s", name, have, p.KeyKind())
		}
		if d.IsFolded(i) != t.folded[name] {
			return fmt.Errorf("the index has the field %s as it is written, and another one has it folded", name)
		}
	}
	return nil
}

// reasonOf returns why an index has no program.
func reasonOf(err error) string {
	var refused *reindex.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return err.Error()
}
