// SPDX-License-Identifier: Apache-2.0

package schema

import "strings"

// hasInUse reports whether a message has such a field in use.
func (b *Block) hasInUse(f *Field) bool {
	if b == nil {
		return false
	}
	own := b.Field(f.Name)
	return own != nil && !own.Reserved && sameKind(own.Kind, f.Kind)
}

// Block is one type or nested message.
type Block struct {
	IsType  bool
	Name    string
	Removed bool // no longer in the source; its data may still be there
	Line    int  // in the text; 0 if it was not parsed

	Confirmed bool // removed, and its author knows that the records are left behind

	// Of types only.
	Origin    string
	ID        string
	Directory string
	Scatter   int // 0 for not scattered

	IDLine, DirectoryLine, ScatterLine int

	Fields  []*Field
	Indexes []*Index
}

// Index is an index, or one that was.
type Index struct {
	Name      string // as in keys
	Signature string
	Removed   bool
	Confirmed bool // removed, and its author knows that values need no longer be unique
	Line      int
}

// IsUnique reports whether the index allows one record for each combination of values.
func (x *Index) IsUnique() bool { return strings.HasSuffix(x.Name, "_unique") }

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

// allFields returns the fields of a message that there may not be.
func (b *Block) allFields() []*Field {
	if b == nil {
		return nil
	}
	return b.Fields
}

func (b *Block) fieldByNumber(number int32) *Field {
	if b == nil {
		return nil
	}
	return b.ByNumber(number)
}
