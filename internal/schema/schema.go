// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/newer"
)

// singleMessage returns the message that a field holds, unless it holds several.
func (s *Schema) singleMessage(f *Field) *Block {
	if k, _ := ParseKind(f.Kind); k.Wrap != "" && k.Wrap != "*" {
		return nil
	}
	return s.Message(f)
}

// checkOneType checks that there is one type, and every message that is referred to.
func (s *Schema) checkOneType() error {
	types := slices.DeleteFunc(slices.Clone(s.Blocks), func(b *Block) bool { return !b.IsType })
	if len(types) != 1 {
		return fmt.Errorf("there are %d types; a schema has one", len(types))
	}
	if len(types[0].Fields) == 0 {
		return errors.New("the type has no field")
	}
	for _, b := range s.Blocks {
		for _, f := range b.Fields {
			if k, _ := ParseKind(f.Kind); k.Base == "message" && s.Block(k.Arg) == nil {
				return fmt.Errorf("line %d: there is no message %s", f.Line, k.Arg)
			}
		}
	}
	return nil
}

// Schema is types and the messages nested in them: those of a package in its
// persist.lock, or one type with its messages in generated code and in a store.
type Schema struct {
	// Needs are what programs must know that use the text, or data of the schema: one for each
	// feature that changes what lines mean. They come before the blocks.
	Needs  []newer.Need
	Blocks []*Block
	Enums  []*Enum
}

// The field numbers that there are.
const (
	MinNumber = 1
	MaxNumber = 1<<29 - 1
)

// Block returns the block of a type or message, or nil.
func (s *Schema) Block(name string) *Block {
	for _, b := range s.Blocks {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Type returns the block of the type of a schema of one type, such as [ParseType]
// returns.
func (s *Schema) Type() *Block {
	for _, b := range s.Blocks {
		if b.IsType {
			return b
		}
	}
	return nil
}

// Message returns the message that a field holds, or nil.
func (s *Schema) Message(f *Field) *Block {
	if k, ok := ParseKind(f.Kind); ok && k.Base == "message" {
		return s.Block(k.Arg)
	}
	return nil
}

// Enum returns the enumeration with that name, or nil.
func (s *Schema) Enum(name string) *Enum {
	for _, e := range s.Enums {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// ValueName returns the name of a constant in use that has the value, of the enumeration
// of another one. Without one it returns the value.
func (s *Schema) ValueName(of *Constant, value string) string {
	for _, e := range s.Enums {
		for _, c := range e.Constants {
			if slices.Contains(e.Constants, of) && !c.Gone && !c.Any && c.Value == value {
				return c.Name
			}
		}
	}
	return value
}

// OfType returns the schema of one type: its fields in use, and the messages
// that it reaches. Nil if there is no such type.
func (s *Schema) OfType(name string) *Schema {
	root := s.Block(name)
	if root == nil {
		return nil
	}
	one := &Schema{Needs: s.Needs}
	s.copyReached(root, one)
	one.Blocks[0].IsType, one.Blocks[0].Removed, one.Blocks[0].Confirmed = true, false, false
	for _, b := range one.Blocks[1:] {
		*b = Block{Name: b.Name, Fields: b.Fields}
	}
	return one
}

// copyReached appends copies of b and of what it reaches to a schema.
func (s *Schema) copyReached(b *Block, to *Schema) {
	if to.Block(b.Name) != nil {
		return
	}
	c := *b
	c.Indexes, c.Fields = nil, nil
	for _, f := range b.Fields {
		if !f.Reserved {
			c.Fields = append(c.Fields, s.copyField(f, to))
		}
	}
	to.Blocks = append(to.Blocks, &c)
	for _, f := range c.Fields {
		if inner := s.Message(f); inner != nil {
			s.copyReached(inner, to)
		}
	}
}

// copyField returns a copy of a field, and appends the enumerations that tools show to a schema.
func (s *Schema) copyField(f *Field, to *Schema) *Field {
	one := *f
	if !f.Named {
		one.Enums = nil
	}
	for _, name := range one.Enums {
		if e := s.Enum(name); e != nil && to.Enum(name) == nil {
			to.Enums = append(to.Enums, e.unconfirmed())
		}
	}
	return &one
}

// Scattered returns the schema of one type with another number of shards.
func (s *Schema) Scattered(shards int) *Schema {
	root := *s.Type()
	root.Scatter = shards
	other := &Schema{Needs: s.Needs, Blocks: slices.Clone(s.Blocks), Enums: s.Enums}
	other.Blocks[slices.Index(s.Blocks, s.Type())] = &root
	return other
}

// lockHeader opens a persist.lock.
const lockHeader = `# The field numbers and keys that stored data depends on. Written by persistgen.
# Commit this file with the source; do not edit what data was written with.
format %d
`

// The formats of locks. One that says what it needs of programs has the second.
const (
	lockFormat      = 1
	lockNeedsFormat = 2
)

// Lock returns the content of a persist.lock: blocks by name, fields by number,
// indexes by name, then the enumerations.
func (s *Schema) Lock() []byte {
	var out bytes.Buffer
	format := lockFormat
	if len(s.Needs) > 0 {
		format = lockNeedsFormat
	}
	fmt.Fprintf(&out, lockHeader, format)
	s.writeNeeds(&out)
	for _, b := range s.sortedBlocks() {
		out.WriteByte('\n')
		b.writeText(&out)
	}
	for _, e := range s.sortedEnums() {
		out.WriteByte('\n')
		e.writeText(&out)
	}
	return out.Bytes()
}

// Text returns the text of a schema of one type: the type, then its messages by
// name, then its enumerations.
func (s *Schema) Text() string {
	var out bytes.Buffer
	s.writeNeeds(&out)
	root := s.Type()
	root.writeText(&out)
	for _, b := range s.sortedBlocks() {
		if b != root {
			b.writeText(&out)
		}
	}
	for _, e := range s.sortedEnums() {
		e.writeText(&out)
	}
	return out.String()
}

func (s *Schema) writeNeeds(out *bytes.Buffer) {
	for _, n := range slices.SortedFunc(slices.Values(s.Needs), func(a, b newer.Need) int { return cmp.Compare(a.Name, b.Name) }) {
		out.WriteString("needs " + n.Text() + "\n")
	}
}

func (s *Schema) sortedBlocks() []*Block {
	return slices.SortedFunc(slices.Values(s.Blocks), func(a, b *Block) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *Schema) sortedEnums() []*Enum {
	return slices.SortedFunc(slices.Values(s.Enums), func(a, b *Enum) int { return cmp.Compare(a.Name, b.Name) })
}
