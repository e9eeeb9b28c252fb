// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

// Field is a field number in use, or reserved because it was.
type Field struct {
	Number   int32
	Name     string
	Kind     string
	Rules    Rules    // what writes check, and set
	Default  string   // what a record without the field has: a Go literal without spaces; "" for the zero value
	Was      []string // kinds that earlier programs gave it
	Reserved bool

	Enums     []string // the enumerations of the kind, those of a map's keys first
	Named     bool     // the schema of the type has its enumerations; not part of the text
	Confirmed bool     // reserved, and its author knows that the stored values are left behind
	Line      int
}

// Text returns the field's line.
func (f *Field) Text() string {
	word, more := "field", ""
	if f.Reserved {
		word = "reserved"
	}
	if len(f.Enums) > 0 {
		more = " enum " + strings.Join(f.Enums, ",")
	}
	if f.Default != "" {
		more += " default " + f.Default
	}
	more += f.Rules.text()
	if len(f.Was) > 0 {
		more += " was " + strings.Join(f.Was, " ")
	}
	if f.Confirmed {
		more += " " + confirmed
	}
	return fmt.Sprintf("%s %d %s %s%s", word, f.Number, f.Name, f.Kind, more)
}

// allKinds are all kinds that a field has or had.
func (f *Field) allKinds() []string { return append([]string{f.Kind}, f.Was...) }

// hadKind reports whether a kind is one that the field had, whatever the messages
// in it are called.
func (f *Field) hadKind(kind string) bool {
	return slices.ContainsFunc(f.Was, func(k string) bool { return sameKind(k, kind) })
}

// cutOptions cuts the words after the kind of a field into its enumerations, its
// default, its rules and its former kinds. If it is lenient, it passes over other options, each of
// which is one word.
func (f *Field) cutOptions(words []string, lenient bool) (ok bool) {
	if len(words) < 4 {
		return false
	}
	rest := words[4:]
	skip := func() {
		for lenient && len(rest) > 0 && !slices.Contains([]string{"enum", "default", "rules", "was"}, rest[0]) {
			rest = rest[1:]
		}
	}
	if skip(); len(rest) > 1 && rest[0] == "enum" {
		f.Enums, rest = strings.Split(rest[1], ","), rest[2:]
	}
	if skip(); len(rest) > 1 && rest[0] == "default" {
		f.Default, rest = rest[1], rest[2:]
	}
	if skip(); len(rest) > 1 && rest[0] == "rules" {
		if f.Rules, rest, ok = cutRules(rest); !ok {
			return false
		}
	}
	if skip(); len(rest) > 1 && rest[0] == "was" {
		f.Was, rest = slices.Clone(rest[1:]), nil
	}
	return len(rest) == 0
}

func (f *Field) enumCount() int {
	if f == nil {
		return 0
	}
	return len(f.Enums)
}

func (f *Field) enumName(i int) string {
	if i >= f.enumCount() {
		return ""
	}
	return f.Enums[i]
}

func (b *Block) writeText(out *bytes.Buffer) {
	word, removed := "message", ""
	if b.IsType {
		word = "type"
	}
	if b.Removed {
		removed = " removed"
	}
	if b.Confirmed {
		removed += " " + confirmed
	}
	fmt.Fprintf(out, "%s %s%s\n", word, b.Name, removed)
	if b.Origin != "" {
		fmt.Fprintf(out, "\torigin %s\n", b.Origin)
	}
	if b.ID != "" {
		fmt.Fprintf(out, "\tid %s\n", b.ID)
	}
	if b.Directory != "" {
		fmt.Fprintf(out, "\tdirectory %s\n", strconv.Quote(b.Directory))
	}
	if b.Scatter != 0 {
		fmt.Fprintf(out, "\tscatter %d\n", b.Scatter)
	}
	b.writeFields(out)
	b.writeIndexes(out)
}

func (b *Block) writeFields(out *bytes.Buffer) {
	for _, f := range slices.SortedFunc(slices.Values(b.Fields), func(x, y *Field) int { return cmp.Compare(x.Number, y.Number) }) {
		fmt.Fprintf(out, "\t%s\n", f.Text())
	}
}

func (b *Block) writeIndexes(out *bytes.Buffer) {
	for _, x := range slices.SortedFunc(slices.Values(b.Indexes), func(x, y *Index) int { return cmp.Compare(x.Name, y.Name) }) {
		word := "index"
		if x.Removed {
			word = "dropped"
		}
		fmt.Fprintf(out, "\t%s %s %s", word, x.Name, x.Signature)
		if x.Confirmed {
			out.WriteString(" " + confirmed)
		}
		out.WriteByte('\n')
	}
}
