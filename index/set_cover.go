// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// cover is what the entries of one index copy of a record's fields.
type cover struct{ index, from, to int }

// BeginCover returns the buffer to which the caller appends what the entries of an
// index with CoverFields copy of the record. Call it behind Close.
func (s *Set) BeginCover() []byte { return s.entries.buf }

// EndCover takes the buffer back and completes the index that was closed last. A copy
// that does not fit into a value is a *[CoverSizeError].
func (s *Set) EndCover(ix *Index, b []byte) error {
	e := &s.entries
	s.covers = append(s.covers, cover{len(s.first) - 1, len(e.buf), len(b)})
	size := len(b) - len(e.buf)
	e.buf = b
	if size > maxCover {
		return &CoverSizeError{ix.Definition, size}
	}
	return nil
}

// maxCover is how many bytes of fields an entry can copy: a value has room for them
// behind the longest id.
const maxCover = kv.MaxValueSize - kv.MaxKeySize

// Record returns what AppendValue needs to know of the record for the entries of index
// i: r, or the copies of its fields in place of the record.
func (s *Set) Record(i int, ix *Index, r Record) Record {
	if len(ix.CoverFields) == 0 {
		return r
	}
	r.Value = nil
	if s == nil {
		return r
	}
	for _, c := range s.covers {
		if c.index == i {
			r.Value = s.entries.buf[c.from:c.to:c.to]
		}
	}
	return r
}

// CoverSizeError says that the fields that entries of an index copy are too large.
type CoverSizeError struct {
	Definition *Definition
	Size       int // bytes of the fields
}

// Error implements error.
func (e *CoverSizeError) Error() string {
	return fmt.Sprintf("index: the fields %v that %s copies have %d bytes; at most %d are possible: copy fewer, or none",
		e.Definition.CoverFields, e.Definition.Name, e.Size, maxCover)
}
