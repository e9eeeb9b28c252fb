// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Claims are the reads of the unique keys that a record is about to own. They
// are started before its stored form is known, so that all reads take one
// round. The zero value is ready; it is reused from record to record.
type Claims struct {
	reads []claim
}

type claim struct {
	index, n int
	owner    kv.Future[[]byte]
}

// Reset ends the use of what was read: claims that are kept for another record keep nothing.
func (c *Claims) Reset() {
	clear(c.reads)
	c.reads = c.reads[:0]
}

// Start starts the reads for the entries of a record's new form.
func (c *Claims) Start(tx kv.ReadTransaction, indexes []Index, entries *Set) {
	c.reads = c.reads[:0]
	for i := range indexes {
		if !indexes[i].Unique || indexes[i].State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			c.reads = append(c.reads, claim{i, n, tx.Get(entries.Key(i, n))})
		}
	}
}

// Check waits for the reads and returns a *[TakenError] for the first new key
// that another record owns. Keys that the record's stored form has as well are
// not questioned: they are its own, or, while an index is being built over data
// that is not unique, a violation that the build reports. stored may be nil.
// After another Start the same entries may be checked again.
func (c *Claims) Check(ctx context.Context, indexes []Index, entries, stored *Set, id []byte) error {
	for _, r := range c.reads {
		value, err := r.owner.Get(ctx)
		if err != nil {
			return err
		}
		key := entries.Key(r.index, r.n)
		entries.markForeign(r.index, r.n, false)
		if value == nil {
			continue
		}
		ix := &indexes[r.index]
		owner, _, err := SplitUnique(ix.Definition, key, value)
		if err != nil {
			return err
		}
		if bytes.Equal(owner, id) {
			continue
		}
		if stored == nil || !stored.Has(r.index, key) {
			return taken(ix, key, owner)
		}
		entries.markForeign(r.index, r.n, true)
	}
	return nil
}

func taken(ix *Index, key, owner []byte) error {
	values, err := ix.Values(key[len(ix.Prefix):])
	if err != nil {
		return &EntryError{ix.Definition, key, "the key is not a tuple", err}
	}
	return &TakenError{ix.Definition, values, slices.Clone(owner)}
}

// SplitUnique cuts the value of a unique entry into the owner's packed id and
// the covered record, which is empty where the entry does not hold it.
func SplitUnique(d *Definition, key, value []byte) (owner, record []byte, err error) {
	record, err = tuple.Skip(value)
	if err != nil {
		return nil, nil, &EntryError{d, slices.Clone(key), "the value does not begin with an id", err}
	}
	return value[:len(value)-len(record)], record, nil
}

// AppendKeys does what Start does before it reads, and appends the keys that are to be
// read, for a caller that starts the reads of many records at once. It gives their
// futures to TakeReads.
func (c *Claims) AppendKeys(keys [][]byte, indexes []Index, entries *Set) [][]byte {
	c.reads = c.reads[:0]
	for i := range indexes {
		if !indexes[i].Unique || indexes[i].State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			c.reads = append(c.reads, claim{index: i, n: n})
			keys = append(keys, entries.Key(i, n))
		}
	}
	return keys
}

// TakeReads takes the first of the futures, which are the reads of the keys that
// AppendKeys has appended, and returns the others.
func (c *Claims) TakeReads(reads []kv.Future[[]byte]) (rest []kv.Future[[]byte]) {
	for i := range c.reads {
		c.reads[i].owner = reads[i]
	}
	return reads[len(c.reads):]
}

// StartNew is Start for a record with a known stored form. It leaves out the keys
// that the stored form has, too, where the index is readable: then they are the
// record's own. stored may be nil.
func (c *Claims) StartNew(tx kv.ReadTransaction, indexes []Index, entries, stored *Set) {
	c.reads = c.reads[:0]
	for i := range indexes {
		ix := &indexes[i]
		if !ix.Unique || ix.State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			key := entries.Key(i, n)
			if ix.State == Readable && stored != nil && stored.Has(i, key) {
				continue
			}
			c.reads = append(c.reads, claim{i, n, tx.Get(key)})
		}
	}
}

// Owners waits for the reads and returns the packed ids of the records that own the
// keys, each once.
func (c *Claims) Owners(ctx context.Context, indexes []Index, entries *Set) (owners [][]byte, err error) {
	for _, r := range c.reads {
		value, err := r.owner.Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		owner, _, err := SplitUnique(indexes[r.index].Definition, entries.Key(r.index, r.n), value)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(owners, func(o []byte) bool { return bytes.Equal(o, owner) }) {
			owners = append(owners, slices.Clone(owner))
		}
	}
	return owners, nil
}

// TakenError says that a unique key already has an owner.
type TakenError struct {
	Definition *Definition
	Values     tuple.Tuple // the values in the order of Definition.Fields
	Owner      []byte      // the packed id of the record that has them
}

// Error implements error.
func (e *TakenError) Error() string {
	return fmt.Sprintf("index: %s: the values %v belong to the record %s", e.Definition.Name, e.Values, tuple.Describe(e.Owner))
}

// KeySizeError says that an index key would pass [kv.MaxKeySize] bytes.
type KeySizeError struct {
	Definition *Definition
	Size       int    // bytes of the whole key
	Field      string // the field with the largest part in it; "ID" for the id
	FieldSize  int    // bytes of that part
}

// Error implements error.
func (e *KeySizeError) Error() string {
	return fmt.Sprintf("index: a key of %s would have %d bytes, %d of them from %s; at most %d are possible: shorten the value, or index a hash or a prefix of it kept in a field of its own",
		e.Definition.Name, e.Size, e.FieldSize, e.Field, kv.MaxKeySize)
}

// keySizeError finds the largest component of a key.
func keySizeError(ix *Index, key []byte) error {
	e := &KeySizeError{Definition: ix.Definition, Size: len(key) + ix.Kind.descriptor().overhead, Field: "ID"}
	_, rest, _ := ix.Scatter.Cut(key[len(ix.Prefix):]) // written by Begin
	for _, field := range ix.Fields {
		after, err := tuple.Skip(rest)
		if err != nil {
			break
		}
		if size := len(rest) - len(after); size > e.FieldSize {
			e.Field, e.FieldSize = field, size
		}
		rest = after
	}
	if len(rest) > e.FieldSize {
		e.Field, e.FieldSize = "ID", len(rest)
	}
	return e
}

// EntryError says that an entry's bytes are not what the index writes.
type EntryError struct {
	Definition *Definition
	Key        []byte
	Reason     string
	Err        error // the cause, if any
}

// Error implements error.
func (e *EntryError) Error() string {
	s := fmt.Sprintf("index: %s: entry %q: %s", e.Definition.Name, e.Key, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }
