// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// recordType is what the header of a store says of its records.
type recordType struct {
	name     string
	catalog  *format.Catalog
	root     *schema.Block
	body     *message.Type
	id       *message.Path
	zeroID   ID              // that of a record without values
	args     []*message.Path // the {Field}s of the directory
	programs []*reindex.Program
	foreign  map[string]string // why an index needs the type's Go code, by its name in keys
}

// newRecordType reads a header.
func newRecordType(c *format.Catalog) (t *recordType, err error) {
	t = &recordType{catalog: c, root: c.Schema().Type(), foreign: map[string]string{}}
	t.name = t.root.Name
	if t.body, err = message.NewType(c.Schema()); err != nil {
		return nil, fmt.Errorf("dynamic: the schema in the header of %s: %w", t.name, err)
	}
	field := t.root.ByNumber(schema.MinNumber)
	if field == nil {
		return nil, fmt.Errorf("dynamic: the schema in the header of %s has no field with the number %d, which is that of the id", t.name, schema.MinNumber)
	}
	if t.id, err = t.body.Path(field.Name); err != nil {
		return nil, fmt.Errorf("dynamic: the id of %s: %w", t.name, err)
	}
	if kind := t.id.KeyKind(); kind != t.root.ID {
		return nil, fmt.Errorf("dynamic: the id of %s is of the kind %s, and its field is %s: this version of the program cannot read it", t.name, t.root.ID, field.Kind)
	}
	t.zeroID = t.idOf(t.body.New())
	t.compileIndexes()
	return t, nil
}

// isNone reports whether an id counts as none, as in generated code.
func (t *recordType) isNone(id ID) bool {
	switch t.root.ID {
	case "bool", "float", "double":
		return id.IsZero()
	}
	return id.IsZero() || id == t.zeroID
}

// idOf returns the id that the values of a record have.
func (t *recordType) idOf(m *message.Message) ID {
	return ID{string(t.id.AppendKey(nil, m))}
}

// compileIndexes makes the programs of the header's indexes.
func (t *recordType) compileIndexes() {
	for _, ix := range t.catalog.Indexes() {
		p, err := reindex.Compile(ix.KeyName, ix.Layout, t.catalog.Schema())
		if err == nil {
			err = t.checkKinds(p.Definition())
		}
		if err != nil {
			t.foreign[ix.KeyName] = reasonOf(err)
			continue
		}
		t.programs = append(t.programs, p)
	}
}

// hasVersions reports whether the records have versions.
func (t *recordType) hasVersions() bool {
	return slices.ContainsFunc(t.programs, func(p *reindex.Program) bool { return p.Definition().Kind == index.Version })
}

// appendID appends an id as a tuple element: never nothing, also for the zero ID.
func (t *recordType) appendID(b []byte, id ID) []byte {
	if id.IsZero() {
		id = t.zeroID
	}
	return append(b, id.packed...)
}

// parseID reads the id that b begins with.
func (t *recordType) parseID(b []byte) (id ID, rest []byte, err error) {
	if _, rest, err = t.id.ReadKey(b); err != nil {
		return id, nil, err
	}
	return ID{string(b[:len(b)-len(rest)])}, rest, nil
}
