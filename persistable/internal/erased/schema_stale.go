// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// checkFields returns an error if the struct has a field that its generated code does not
// store. Such code compiles, and would lose what the program writes to the field.
func (s *Schema) checkFields() error {
	if s.Dynamic != nil {
		return nil
	}
	record, err := s.Decode(nil, new(wire.Strings))
	if err != nil {
		return nil // each read reports it
	}
	t := elementOf(reflect.TypeOf(record))
	c := fieldCheck{s.lock, map[*schema.Block]bool{}}
	if missing := c.missing(t, s.lock.Type()); missing != "" {
		return fmt.Errorf("persistable: %s has the field %s, which its generated code does not store: run go generate, and commit what it writes", t, missing)
	}
	return nil
}

// fieldCheck compares structs with the messages in which their fields are stored.
type fieldCheck struct {
	lock *schema.Schema
	seen map[*schema.Block]bool
}

// missing returns the path of the first field that the message does not have, or "".
func (c fieldCheck) missing(t reflect.Type, in *schema.Block) string {
	if t.Kind() != reflect.Struct || in == nil || c.seen[in] {
		return ""
	}
	c.seen[in] = true
	return c.missingOf(t, in)
}

func (c fieldCheck) missingOf(t reflect.Type, in *schema.Block) string {
	for f := range t.Fields() {
		name, stored := storedName(f)
		known := in.Field(name)
		var inner string
		switch {
		case !stored:
		case known != nil:
			inner = c.missing(elementOf(f.Type), c.lock.Message(known))
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
	isVersion := f.Type.Name() == "Version" && strings.HasSuffix(f.Type.PkgPath(), "kazahana/persistable")
	return f.Name, !isVersion
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
