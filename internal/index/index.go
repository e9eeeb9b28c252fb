// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Index is an index of an open store.
type Index struct {
	*Definition
	Prefix          []byte // of the entries' keys
	ViolationPrefix []byte // of the keys that record what a build found to be not unique
	State           State
}

// fillSize is what one entry takes of a transaction. A key is in the mutation
// and twice in a conflict range: that of the write and, if the index is unique,
// that of the read.
func (ix *Index) fillSize(key []byte, r Record) int {
	if ix.Unique {
		return 5*len(key) + ix.valueSize(r) + uniqueOverhead
	}
	return 3*len(key) + ix.valueSize(r) + plainOverhead
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

// State says what may be done with an index. It is kept in the header of each
// store, because an index can be built in one tenant and not in another.
type State int

// The states of an index.
const (
	// Disabled: entries are neither written nor read, and existing ones are not to
	// be trusted. An index that was added to a type with records is disabled until it is
	// built.
	Disabled State = 0
	// Building: every write maintains the entries, but records from before may
	// not have theirs yet. Queries are refused.
	Building State = 1
	// Readable: complete, maintained by every write.
	Readable State = 2
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Disabled:
		return "disabled"
	case Building:
		return "building"
	case Readable:
		return "readable"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// Violation is a record that has the values of a unique index which another
// record owns, found by a build.
type Violation struct {
	Key    []byte // of the unique entry
	Record []byte // the packed id of the record without an entry
	Owner  []byte // the packed id of the owner when it was found

	at []byte // the violation's own key
}

// maxViolationID is the length in bytes up to which the key of a violation has
// the record's id itself, so that violations are in the order of their records.
const maxViolationID = 1000

// violationKey is where a build records that the record id also has the values
// of a unique key: the id and a digest of the values. Both values and id may be
// nearly as long as a key can be, so that a key has no room for them: a long id
// is a digest as well.
func violationKey(ix *Index, key, id []byte) []byte {
	own := slices.Clone(ix.ViolationPrefix)
	if len(id) <= maxViolationID {
		own = append(own, id...)
	} else {
		own = appendDigest(own, id)
	}
	return appendDigest(own, key[len(ix.Prefix):])
}

// appendDigest appends a tuple's element of the first 16 bytes of b's SHA-256.
func appendDigest(dst, b []byte) []byte {
	sum := sha256.Sum256(b)
	return tuple.AppendBytes(dst, sum[:16])
}

// recordViolation writes a violation. Its value has what its key has no room
// for, as a tuple of three byte strings: the packed values, the record's packed
// id, the owner's packed id.
func recordViolation(tx kv.Transaction, ix *Index, key, id, owner []byte) {
	value := tuple.AppendBytes(nil, key[len(ix.Prefix):])
	value = tuple.AppendBytes(value, id)
	value = tuple.AppendBytes(value, owner)
	tx.Set(violationKey(ix, key, id), value)
}

// readViolation reads what recordViolation wrote.
func (ix *Index) readViolation(pair kv.KeyValue) (Violation, error) {
	var parts [3][]byte
	rest := pair.Value
	for i := range parts {
		var err error
		if parts[i], rest, err = tuple.ReadBytes(rest); err != nil {
			return Violation{}, &EntryError{ix.Definition, slices.Clone(pair.Key), "the violation is damaged", err}
		}
	}
	return Violation{slices.Concat(ix.Prefix, parts[0]), parts[1], parts[2], pair.Key}, nil
}

// Violations reads up to limit violations after a key that an earlier call
// returned (nil at first), and returns the key to go on from, nil at the end. A key of
// another directory, which was at the path before, has no place here: the list begins anew.
func (ix *Index) Violations(ctx context.Context, tx kv.ReadTransaction, after []byte, limit int) ([]Violation, []byte, error) {
	r := Bounds{}.Range(ix.ViolationPrefix)
	if bytes.HasPrefix(after, ix.ViolationPrefix) {
		r.Begin = kv.Successor(after)
	}
	pairs, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []Violation
	for _, pair := range pairs {
		v, err := ix.readViolation(pair)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, v)
	}
	if len(pairs) < limit {
		return all, nil, nil
	}
	return all, pairs[len(pairs)-1].Key, nil
}

// Settle looks at a violation again, given the entries that its record has now
// (nil if it is gone), and removes it if it is none any more: the record has
// other values, or the owner has. It returns the owner if it still is one.
func (ix *Index) Settle(ctx context.Context, tx kv.Transaction, i int, v Violation, entries *Set, r Record) (owner []byte, err error) {
	if entries != nil && entries.Has(i, v.Key) {
		value, err := tx.Get(v.Key).Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			tx.Set(v.Key, ix.AppendValue(nil, entries.Record(i, ix, r)))
		} else if owner, _, err = SplitUnique(ix.Definition, v.Key, value); err != nil {
			return nil, err
		}
		if owner != nil && !bytes.Equal(owner, r.ID) {
			return owner, nil
		}
	}
	tx.Clear(v.at)
	return nil, nil
}
