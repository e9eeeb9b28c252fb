// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"slices"
)

// lockHeader opens a persist.lock.
const lockHeader = `# The field numbers and keys that stored data depends on. Written by persistgen.
# Commit this file with the source; do not edit what data was written with.
format 1
`

// Lock returns the content of a persist.lock: blocks by name, fields by number,
// indexes by name, then the enumerations.
func (s *Schema) Lock() []byte {
	var out bytes.Buffer
	out.WriteString(lockHeader)
	for _, b := range s.sortedBlocks() {
		out.WriteByte('\n')
		b.writeText(&out)
	}
	for _, e := range slices.SortedFunc(slices.Values(s.Enums), func(a, b *Enum) int { return cmp.Compare(a.Name, b.Name) }) {
		out.WriteByte('\n')
		e.writeText(&out)
	}
	return out.Bytes()
}

// Text returns the text of a schema of one type: the type, then its messages by
// name.
func (s *Schema) Text() string {
	var out bytes.Buffer
	root := s.Type()
	root.writeText(&out)
	for _, b := range s.sortedBlocks() {
		if b != root {
			b.writeText(&out)
		}
	}
	return out.String()
}

func (s *Schema) sortedBlocks() []*Block {
	return slices.SortedFunc(slices.Values(s.Blocks), func(a, b *Block) int { return cmp.Compare(a.Name, b.Name) })
}
