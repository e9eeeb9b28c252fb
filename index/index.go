// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/kazahana-db/kazahana/kv"

// fillSize is what one entry takes of a transaction. A key is in the mutation
// and twice in a conflict range: that of the write and, if the index is unique,
// that of the read.
func (ix *Index) fillSize(key []byte, r Record) int {
	if ix.Unique {
		return 5*len(key) + ix.valueSize(r) + uniqueOverhead
	}
	return 3*len(key) + ix.valueSize(r) + plainOverhead
}

// Clear removes all entries and violations.
func (ix *Index) Clear(tx kv.Transaction) {
	tx.ClearRange(Bounds{}.Range(ix.Prefix))
	tx.ClearRange(Bounds{}.Range(ix.ViolationPrefix))
	switch ix.Kind {
	case Rank:
		ix.Ranks().Clear(tx)
	case Version:
		tx.ClearRange(kv.PrefixRange(ix.Versions()))
	}
}

// AppendValue appends the value of an entry of the index to dst.
func (ix *Index) AppendValue(dst []byte, r Record) []byte {
	if ix.Unique {
		dst = append(dst, r.ID...)
	}
	if ix.copiesRecord(r) {
		dst = append(dst, r.Value...)
	}
	return dst
}

// copiesRecord reports whether an entry copies the record, or fields of it.
func (ix *Index) copiesRecord(r Record) bool {
	return ix.copies() && len(r.ID)+len(r.Value) <= kv.MaxValueSize
}

// copies reports whether entries have copies, of records or of fields.
func (ix *Index) copies() bool { return ix.Cover || len(ix.CoverFields) > 0 }

// valueSize is the length of what AppendValue appends.
func (ix *Index) valueSize(r Record) (size int) {
	if ix.Unique {
		size += len(r.ID)
	}
	if ix.copiesRecord(r) {
		size += len(r.Value)
	}
	return size
}

// Index is an index of an open store.
type Index struct {
	*Definition
	Prefix          []byte // of the entries' keys
	ViolationPrefix []byte // of the keys that record what a build found to be not unique
	State           State
}
