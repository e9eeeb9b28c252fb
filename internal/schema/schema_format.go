// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/newer"
)

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
	s.writeNeeds(&out)
	root := s.Type()
	root.writeText(&out)
	for _, b := range s.sortedBlocks() {
		if b != root {
			b.writeText(&out)
		}
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
