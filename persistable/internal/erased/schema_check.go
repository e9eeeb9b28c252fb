// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// Parsed returns what Lock says, or the faults of the schema. One is that the struct has
// fields that are newer than the generated code.
func (s *Schema) Parsed() (*schema.Schema, error) {
	s.once.Do(func() {
		if s.invalid = s.Validate(); s.invalid == nil {
			s.lock, s.invalid = parseLock(s.Type, s.Lock)
		}
		if s.invalid == nil {
			s.invalid = s.checkFields()
		}
	})
	return s.lock, s.invalid
}

// parseLock reads what a generated schema says of its type.
func parseLock(typ, text string) (*schema.Schema, error) {
	s, err := schema.ParseType(text)
	if err == nil && s.Type().Name != typ {
		err = fmt.Errorf("it is of the type %s", s.Type().Name)
	}
	if err != nil {
		return nil, fmt.Errorf("persistable: schema of %q: Lock: %w", typ, err)
	}
	return s, nil
}

// Validate reports all faults of the schema, joined. Generated schemas have none.
func (s *Schema) Validate() error {
	var faults []error
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, fmt.Errorf("persistable: schema of %q: %s", s.Type, text))
		}
	}
	fault(s.Type == "", "Type is empty")
	fault(len(s.Directory) == 0, "Directory is empty")
	fault(s.Scatter.Validate() != nil, fmt.Sprintf("Scatter is %d, must be 0 or a power of two from 2 to %d", s.Scatter, index.MaxShards))
	fault(s.IDs == nil || s.ID == nil, "IDs or ID is missing")
	fault(s.Encode == nil || s.Decode == nil || s.Known == nil, "Encode, Decode or Known is missing")
	hasFields := slices.ContainsFunc(s.Directory, func(e PathElement) bool { return e.Field != "" })
	fault(hasFields != (s.CheckArgs != nil) || hasFields != (s.FillArgs != nil), "CheckArgs and FillArgs must be there if, and only if, Directory has a {Field}")
	fault((len(s.Indexes) > 0) != (s.Entries != nil || s.Dynamic != nil && s.Dynamic.Entries != nil), "Entries must be there if, and only if, there are Indexes")
	covers := slices.ContainsFunc(s.Indexes, func(d index.Definition) bool { return len(d.CoverFields) > 0 })
	fault(covers != (s.Covers != nil), "Covers must be there if, and only if, an index has CoverFields")
	for i := range s.Indexes {
		faults = append(faults, s.Indexes[i].Validate())
		for j := range i {
			fault(s.Indexes[i].KeyName() == s.Indexes[j].KeyName(), "two indexes are named "+s.Indexes[i].KeyName())
		}
	}
	return errors.Join(faults...)
}

// FulfilsAny reports whether a record fulfils at least one of some conjunctions. buf
// is room for the values of a field.
func (s *Schema) FulfilsAny(record any, alternatives []Conjunction, buf []byte) bool {
	return slices.ContainsFunc(alternatives, func(c Conjunction) bool { return s.Fulfils(record, c, buf) })
}

// Fulfils reports whether a record fulfils all clauses. A clause on a slice holds if
// it holds of an element; all ranges on one slice must hold of one element.
func (s *Schema) Fulfils(record any, clauses Conjunction, buf []byte) bool {
	for i := range clauses {
		c := &clauses[i]
		if c.Comparison != Equal && slices.ContainsFunc(clauses[:i], c.isRangeBeside) {
			continue // it was looked at together with that range
		}
		buf = s.Values(c.Field, buf[:0], record)
		if !hasElement(buf, func(element []byte) bool { return c.admitsWith(clauses[i:], element) }) {
			return false
		}
	}
	return true
}

// IsLowest reports whether element is the lowest of the elements of a record's slice that
// are in the ranges that clauses give for it.
func (s *Schema) IsLowest(record any, clauses Conjunction, field string, element, buf []byte) bool {
	isLower := func(other []byte) bool {
		return bytes.Compare(other, element) < 0 && clauses.admitRanges(field, other)
	}
	return !hasElement(s.Values(field, buf[:0], record), isLower)
}

// admitRanges reports whether the ranges on a field hold of an element.
func (c Conjunction) admitRanges(field string, element []byte) bool {
	return !slices.ContainsFunc(c, func(l Clause) bool {
		return l.Field == field && l.Comparison != Equal && !l.admits(element)
	})
}

// hasElement reports whether one of the tuple elements of b is as wanted.
func hasElement(b []byte, wanted func(element []byte) bool) bool {
	for len(b) > 0 {
		rest, err := tuple.Skip(b)
		if err != nil {
			return false
		}
		if wanted(b[:len(b)-len(rest)]) {
			return true
		}
		b = rest
	}
	return false
}

// checkFields returns an error if the struct has a field that its generated code does not
// store, or other tags. Such code compiles, but would lose what the program writes to the field, or keep no
// unique value.
func (s *Schema) checkFields() error {
	if s.Dynamic != nil {
		return nil
	}
	record, err := s.Decode(nil, new(wire.Strings))
	if err != nil {
		return nil // each read reports it
	}
	t := elementOf(reflect.TypeOf(record))
	c := fieldCheck{lock: s.lock, seen: map[*schema.Block]bool{}}
	if missing := c.missing(t, s.lock.Type()); missing != "" {
		return fmt.Errorf("persistable: %s has the field %s, which its generated code does not store: run go generate, and commit what it writes", t, missing)
	}
	if s.Tags != 0 && s.Tags != c.tags {
		return fmt.Errorf("persistable: the tags of %s are not those for which its code was generated: run go generate, and commit what it writes", t)
	}
	return nil
}

// fieldCheck compares structs with the messages in which their fields are stored.
type fieldCheck struct {
	lock *schema.Schema
	seen map[*schema.Block]bool
	tags uint64 // the sum of the tags, as persistgen counts it
}

// missing returns the path of the first field that the message does not have, or "". t may be a list of
// such structs.
func (c *fieldCheck) missing(t reflect.Type, in *schema.Block) string {
	if in == nil || c.seen[in] {
		return ""
	}
	c.seen[in] = true
	if t = elementOf(t); t.Kind() != reflect.Struct {
		return ""
	}
	return c.missingOf(t, in)
}

func (c *fieldCheck) missingOf(t reflect.Type, in *schema.Block) string {
	for f := range t.Fields() {
		tag, marker := f.Tag.Get("persist"), persistableName(f.Type)
		if tag != "" || marker != "" {
			c.tags += schema.TagSum(in.Name, marker, f.Name, tag)
		}
		name, stored := storedName(f)
		known := in.Field(name)
		var inner string
		switch {
		case !stored:
		case known != nil && !known.Reserved:
			inner = c.missing(f.Type, c.lock.Message(known))
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // its fields are stored as those of this one
			inner = c.missingOf(f.Type, in)
		case f.IsExported():
			return f.Name
		}
		if inner != "" {
			return f.Name + "." + inner
		}
	}
	return ""
}

// storedName returns the name under which a field is stored, if persistgen stores it.
func storedName(f reflect.StructField) (name string, stored bool) {
	if f.Name == "_" {
		return "", false
	}
	for word := range strings.SplitSeq(f.Tag.Get("persist"), ",") {
		word = strings.TrimSpace(word)
		if word == "-" {
			return "", false
		}
		if given, ok := strings.CutPrefix(word, "name="); ok {
			return given, true
		}
	}
	return f.Name, persistableName(f.Type) != "Version"
}

// persistableName returns the name of a type of package persistable, "" for other types.
func persistableName(t reflect.Type) string {
	if t.PkgPath() != "github.com/kazahana-db/kazahana/persistable" {
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// elementOf returns the type of what a pointer, list or map holds, however deep.
func elementOf(t reflect.Type) reflect.Type {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t
		}
	}
}
