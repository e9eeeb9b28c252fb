// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/fold"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/words"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
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
	folded   map[string]bool   // the fields that some index has folded
	foreign  map[string]string // why an index needs the type's Go code, by its name in keys
}

// newRecordType reads a header.
func newRecordType(c *format.Catalog) (t *recordType, err error) {
	t = &recordType{catalog: c, root: c.Schema().Type(), folded: map[string]bool{}, foreign: map[string]string{}}
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
		d, _ := index.ParseLayout(ix.KeyName, ix.Layout) // Compile reports the error
		for _, field := range d.Folded {
			t.folded[field] = true
		}
	}
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

// checkArgs compares a record's {Field}s with the store's arguments.
func (t *recordType) checkArgs(record any, args []string) (field, got string, ok bool) {
	for i, p := range t.args {
		if got := p.Text(p.Get(recordOf(record).body)); got != args[i] {
			return p.Name, got, false
		}
	}
	return "", "", true
}

// fillArgs sets those {Field}s of a record that are zero to the store's arguments.
func (t *recordType) fillArgs(record any, args []string) {
	for i, p := range t.args {
		body := recordOf(record).body
		if v, err := p.ParseValue(args[i]); err == nil && p.IsZero(p.Get(body)) {
			p.Set(body, v)
		}
	}
}

// position is where a store is, in the terms of its schema.
type position struct {
	elements []erased.PathElement // of the whole path
	args     []string             // the values of the {Field}s
	refusal  error                // why nothing may be written
}

// bound is an element of a directory that is a {Field}, with its layer.
var bound = regexp.MustCompile(`^\{(\w+)\}(?:\((\w*)\))?$`)

// addNames adds elements that are fixed names.
func (at *position) addNames(names []string) {
	for _, name := range names {
		at.elements = append(at.elements, erased.PathElement{Name: name})
	}
}

// locate returns the position of the type's store in an open directory. The path must end
// as the schema says; what is before that end does not matter. A store at another path
// has no {Field}s and refuses writes: their values would be lost, or wrong.
func (t *recordType) locate(d *directory.Directory) *position {
	return t.locateAt(d.Path(), d.Layers())
}

// locateAt is locate for the directory at a path, with the layers of its elements.
func (t *recordType) locateAt(path, layers []string) *position {
	words := strings.Split(t.root.Directory, "/")
	at := &position{}
	if before := len(path) - len(words); before >= 0 {
		at.addNames(path[:before])
		if t.bindArgs(at, words, path[before:], layers[before:]) {
			return at
		}
	}
	t.args = nil
	at = &position{refusal: &persistable.DirectoryError{
		Type: t.name, Path: path,
		Reason: fmt.Sprintf("the directory of the type is %s, and this path does not end so: the store can only be read; move the directory to such a path", t.root.Directory),
	}}
	at.addNames(path)
	return at
}

// bindArgs adds the elements of the type's directory, and reports whether path and layers
// are as they say.
func (t *recordType) bindArgs(at *position, words, path, layers []string) bool {
	for i, word := range words {
		match := bound.FindStringSubmatch(word)
		if match == nil {
			at.elements = append(at.elements, erased.PathElement{Name: path[i]})
			if word != path[i] {
				return false
			}
			continue
		}
		at.elements = append(at.elements, erased.PathElement{Field: match[1], Layer: match[2]})
		p, err := t.body.Path(match[1])
		if err != nil || !isArgument(p.Plain(), path[i]) || match[2] != "" && match[2] != layers[i] {
			return false
		}
		t.args = append(t.args, p.Plain())
		at.args = append(at.args, path[i])
	}
	return true
}

// isArgument reports whether a name is the text of a value of the {Field}.
func isArgument(p *message.Path, name string) bool {
	v, err := p.ParseValue(name)
	return err == nil && p.Text(v) == name
}

// findIndex returns which of the type's indexes has a name in keys and entries for records.
func (t *recordType) findIndex(name string) (int, error) {
	i := slices.IndexFunc(t.programs, func(p *reindex.Program) bool { return p.Definition().KeyName() == name })
	if i < 0 {
		return i, t.noIndex(name)
	}
	if kind := t.programs[i].Definition().Kind; !kind.HasEntries() {
		return i, fmt.Errorf("dynamic: the index %s of %s is a %s: it has no order of records", name, t.name, kind)
	}
	return i, nil
}

// noIndex says why there is no index with a name.
func (t *recordType) noIndex(name string) error {
	if reason, foreign := t.foreign[name]; foreign {
		return fmt.Errorf("dynamic: the index %s of %s needs the Go code of the type: %s", name, t.name, reason)
	}
	var names []string
	for _, p := range t.programs {
		names = append(names, p.Definition().KeyName())
	}
	if len(names) == 0 {
		return fmt.Errorf("dynamic: %s has no index %q, and no other", t.name, name)
	}
	return fmt.Errorf("dynamic: %s has no index %q; it has %s", t.name, name, strings.Join(names, ", "))
}

// packValues returns the values of the first fields of an index as its keys have them.
func (t *recordType) packValues(d *index.Definition, values []string) (packed []byte, err error) {
	if len(values) > len(d.Fields) {
		return nil, fmt.Errorf("dynamic: the index %s has %d fields (%s), and %d values are given", d.Name, len(d.Fields), strings.Join(d.Fields, ", "), len(values))
	}
	if d.Kind == index.Search && len(values) > 0 {
		return packWord(d, values)
	}
	for i, text := range values {
		p, err := t.body.Path(d.Fields[i])
		if err != nil {
			return nil, err
		}
		element, err := parseElement(p, text)
		if err != nil {
			return nil, fmt.Errorf("dynamic: the index %s: %w", d.Name, err)
		}
		if d.IsFolded(i) {
			element = fold.Element(element)
		}
		from := len(packed)
		if packed = append(packed, element...); d.IsDescending(i) {
			packed = index.Descend(packed, from)
		}
	}
	return packed, nil
}

// packWord returns the one word of a search as its keys have it.
func packWord(d *index.Definition, values []string) ([]byte, error) {
	found := slices.Collect(words.Split(strings.Join(values, " ")))
	if len(found) != 1 {
		return nil, fmt.Errorf("dynamic: the index %s has an entry for each word, and %d words are given: give one", d.Name, len(found))
	}
	return tuple.AppendString(nil, found[0]), nil
}

// parseElement returns a value given as text as a tuple element.
func parseElement(p *message.Path, text string) ([]byte, error) {
	if p.IsNullable() && text == "null" {
		return tuple.AppendNil(nil), nil
	}
	if quoted, err := strconv.Unquote(text); err == nil && p.IsNullable() && text[0] == '"' {
		text = quoted
	}
	return p.ParseKey(text)
}
