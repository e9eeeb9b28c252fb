// SPDX-License-Identifier: Apache-2.0

package schema

import "slices"

// Schema is types and the messages nested in them: those of a package in its
// persist.lock, or one type with its messages in generated code and in a store.
type Schema struct {
	Blocks []*Block
}

// Block is one type or nested message.
type Block struct {
	IsType  bool
	Name    string
	Removed bool // no longer in the source; its data may still be there
	Line    int  // in the text; 0 if it was not parsed

	// Of types only.
	Origin    string
	ID        string
	Directory string
	Scatter   int // 0 for not scattered

	IDLine, DirectoryLine, ScatterLine int

	Fields  []*Field
	Indexes []*Index
}

// Field is a field number in use, or reserved because it was.
type Field struct {
	Number   int32
	Name     string
	Kind     string
	Was      []string // kinds that earlier programs gave it
	Reserved bool
	Line     int
}

// Index is an index, or one that was.
type Index struct {
	Name      string // as in keys
	Signature string
	Removed   bool
	Line      int
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

// root returns the type of a schema of one type.
func (s *Schema) root() *Block {
	for _, b := range s.Blocks {
		if b.IsType {
			return b
		}
	}
	return nil
}

// Type returns the block of the type of a schema that [ParseType] returned.
func (s *Schema) Type() *Block { return s.root() }

// Message returns the message that a field holds, or nil.
func (s *Schema) Message(f *Field) *Block {
	if k, ok := ParseKind(f.Kind); ok && k.Base == "message" {
		return s.Block(k.Arg)
	}
	return nil
}

// Field returns the field with that name, in use or reserved, or nil.
func (b *Block) Field(name string) *Field {
	for _, f := range b.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ByNumber returns the field with that number, in use or reserved, or nil.
func (b *Block) ByNumber(number int32) *Field {
	for _, f := range b.Fields {
		if f.Number == number {
			return f
		}
	}
	return nil
}

// Index returns the index with that name, or nil.
func (b *Block) Index(name string) *Index {
	for _, x := range b.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// OfType returns the schema of one type: its fields in use, and the messages
// that it reaches. Nil if there is no such type.
func (s *Schema) OfType(name string) *Schema {
	root := s.Block(name)
	if root == nil {
		return nil
	}
	one := &Schema{}
	s.reach(root, one)
	one.Blocks[0].IsType, one.Blocks[0].Removed = true, false
	for _, b := range one.Blocks[1:] {
		*b = Block{Name: b.Name, Fields: b.Fields}
	}
	return one
}

// reach appends copies of b and of what it reaches to a schema.
func (s *Schema) reach(b *Block, to *Schema) {
	if to.Block(b.Name) != nil {
		return
	}
	c := *b
	c.Indexes, c.Fields = nil, slices.DeleteFunc(slices.Clone(b.Fields), func(f *Field) bool { return f.Reserved })
	to.Blocks = append(to.Blocks, &c)
	for _, f := range c.Fields {
		if inner := s.Message(f); inner != nil {
			s.reach(inner, to)
		}
	}
}

// kinds are all kinds that a field has or had.
func (f *Field) kinds() []string { return append([]string{f.Kind}, f.Was...) }

// was reports whether a kind is one that the field had, whatever the messages
// in it are called.
func (f *Field) was(kind string) bool {
	return slices.ContainsFunc(f.Was, func(k string) bool { return sameKind(k, kind) })
}

// Scattered returns the schema of one type with another number of shards.
func (s *Schema) Scattered(shards int) *Schema {
	root := *s.root()
	root.Scatter = shards
	other := &Schema{Blocks: slices.Clone(s.Blocks)}
	other.Blocks[slices.Index(s.Blocks, s.root())] = &root
	return other
}
