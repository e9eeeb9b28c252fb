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

// lockHeader opens a persist.lock.
const lockHeader = `# The field numbers and keys that stored data depends on. Written by persistgen.
# Commit this file with the source; do not edit what data was written with.
format 1
`

// Lock returns the content of a persist.lock: blocks by name, fields by number,
// indexes by name.
func (s *Schema) Lock() []byte {
	var out bytes.Buffer
	out.WriteString(lockHeader)
	for _, b := range s.sorted() {
		out.WriteByte('\n')
		b.format(&out)
	}
	return out.Bytes()
}

// Text returns the text of a schema of one type: the type, then its messages by
// name.
func (s *Schema) Text() string {
	var out bytes.Buffer
	root := s.root()
	root.format(&out)
	for _, b := range s.sorted() {
		if b != root {
			b.format(&out)
		}
	}
	return out.String()
}

func (s *Schema) sorted() []*Block {
	return slices.SortedFunc(slices.Values(s.Blocks), func(a, b *Block) int { return cmp.Compare(a.Name, b.Name) })
}

func (b *Block) format(out *bytes.Buffer) {
	word, removed := "message", ""
	if b.IsType {
		word = "type"
	}
	if b.Removed {
		removed = " removed"
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
	b.formatFields(out)
	b.formatIndexes(out)
}

func (b *Block) formatFields(out *bytes.Buffer) {
	for _, f := range slices.SortedFunc(slices.Values(b.Fields), func(x, y *Field) int { return cmp.Compare(x.Number, y.Number) }) {
		word, was := "field", ""
		if f.Reserved {
			word = "reserved"
		}
		if len(f.Was) > 0 {
			was = " was " + strings.Join(f.Was, " ")
		}
		fmt.Fprintf(out, "\t%s %d %s %s%s\n", word, f.Number, f.Name, f.Kind, was)
	}
}

func (b *Block) formatIndexes(out *bytes.Buffer) {
	for _, x := range slices.SortedFunc(slices.Values(b.Indexes), func(x, y *Index) int { return cmp.Compare(x.Name, y.Name) }) {
		word := "index"
		if x.Removed {
			word = "dropped"
		}
		fmt.Fprintf(out, "\t%s %s %s\n", word, x.Name, x.Signature)
	}
}
