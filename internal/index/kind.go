// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Kind is what the entries of an index say.
type Kind string

// descriptor is what writes, builds, repairs and removals of an index need to know of its
// kind. Each kind has one, in a file of its own or with the code that serves it. The
// functions are nil where there is nothing to do.
type descriptor struct {
	kind        Kind
	idempotent  bool // see [Kind.Idempotent]
	hasEntries  bool // see [Kind.HasEntries]
	hasTotals   bool // see [Kind.HasTotals]
	endsInID    bool // keys that a [Set] gathers end in the id of the record; those of a unique index do not
	needsFields bool // a definition without fields is at fault

	element string // what keys have in place of the values of the fields: one element; "" for these values
	most    int    // how many bytes of a transaction the entries of one record may take; 0 if there is no limit

	// letter begins the keys of an index that are not entries: the packed (letter, key name).
	// "" if there are none.
	letter string
	// overhead is by how much the longest key that belongs to an entry is longer than the
	// entry's own, in bytes.
	overhead int

	// maintain writes the difference between the two forms of a record in index i.
	maintain func(m *maintenance, i int, stored, entries *Set)
	// update starts to erase and insert elements, what follows the prefix in the keys of
	// entries. Such entries are written by it alone: by writes, builds and repairs.
	update func(tx kv.Transaction, ix *Index, erase, insert [][]byte) update
	// fill adds a record to a batch of a build, in index i.
	fill func(f *Fill, i int, entries *Set, r Record)
	// verify compares the keys with the letter with the entries; see [Index.VerifyDerived].
	verify func(ctx context.Context, tx kv.ReadTransaction, ix *Index, at []byte, limit int) (next []byte, err error)
}

// descriptors has those of all kinds that this program knows.
var descriptors = [...]*descriptor{&valueKind, &countKind, &sumKind, &rankKind, &versionKind, &searchKind}

// unknownKind is the descriptor of a kind of a newer program. Nothing is maintained.
var unknownKind descriptor

func (k Kind) descriptor() *descriptor {
	for _, d := range descriptors {
		if d.kind == k {
			return d
		}
	}
	return &unknownKind
}

// Kinds returns all kinds that this program knows.
func Kinds() (kinds []Kind) {
	for _, d := range descriptors {
		kinds = append(kinds, d.kind)
	}
	return kinds
}

// isKnown reports whether this program can maintain indexes of the kind.
func (k Kind) isKnown() bool { return k.descriptor() != &unknownKind }

// Idempotent reports whether maintaining the entries of a record twice has the
// same result as once: then a build may write the entries of a record that a
// concurrent write maintains as well. An index of a kind that is not idempotent
// counts each record: a build must know which records it has counted, and a write
// maintains only those.
func (k Kind) Idempotent() bool { return k.descriptor().idempotent }

// HasEntries reports whether each record has entries of its own in an index of the kind,
// which name the record.
func (k Kind) HasEntries() bool { return k.descriptor().hasEntries }

// HasTotals reports whether an entry of an index of the kind is a number to which each
// record of a group adds.
func (k Kind) HasTotals() bool { return k.descriptor().hasTotals }

// HasDerived reports whether an index of the kind has keys that follow from its entries,
// such as counts of them, which [Index.VerifyDerived] compares.
func (k Kind) HasDerived() bool { return k.descriptor().verify != nil }

// Name returns the name of an index of the kind: as the function [Name] does, with
// the kind's word after the type. A sum's first field is the one that it adds. No
// field has the name of a kind, because those of stored fields begin with a capital.
func (k Kind) Name(typ string, fields ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	if k != Value {
		parts = append(parts, string(k))
	}
	for _, field := range fields {
		parts = append(parts, strings.ReplaceAll(field, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// Letters returns the letters of all kinds with which keys of indexes begin that are not
// entries: with the packed (letter, key name).
func Letters() (letters []string) {
	for _, d := range descriptors {
		if d.letter != "" {
			letters = append(letters, d.letter)
		}
	}
	return letters
}

// auxiliaryPrefix returns what the keys of an index begin with that are not entries.
func (ix *Index) auxiliaryPrefix(letter string) []byte {
	directory := ix.Prefix[:len(ix.Prefix)-len(ix.AppendPrefix(nil))]
	return appendAuxiliaryPrefix(slices.Clone(directory), letter, ix.KeyName())
}

func appendAuxiliaryPrefix(dst []byte, letter, keyName string) []byte {
	return tuple.AppendString(tuple.AppendString(dst, letter), keyName)
}

// Clear removes all entries and violations.
func (ix *Index) Clear(tx kv.Transaction) {
	tx.ClearRange(Bounds{}.Range(ix.Prefix))
	tx.ClearRange(Bounds{}.Range(ix.ViolationPrefix))
	if letter := ix.Kind.descriptor().letter; letter != "" {
		tx.ClearRange(kv.PrefixRange(ix.auxiliaryPrefix(letter)))
	}
}

// ClearUnknown removes all that an index of any kind with that key name has below a
// directory's prefix, but for its violations.
func ClearUnknown(tx kv.Transaction, directory []byte, keyName string) {
	tx.ClearRange(Bounds{}.Range(appendAuxiliaryPrefix(slices.Clone(directory), "I", keyName)))
	for _, letter := range Letters() {
		tx.ClearRange(kv.PrefixRange(appendAuxiliaryPrefix(slices.Clone(directory), letter, keyName)))
	}
}

// SetEntry writes an entry that is missing, or has another value, with all that follows from
// it. It may read.
func (ix *Index) SetEntry(ctx context.Context, tx kv.Transaction, key, value []byte) error {
	if update := ix.Kind.descriptor().update; update != nil {
		return updates{update(tx, ix, nil, [][]byte{key[len(ix.Prefix):]})}.run(ctx)
	}
	tx.Set(key, value)
	return nil
}

// ClearEntry removes an entry, with all that follows from it. It may read.
func (ix *Index) ClearEntry(ctx context.Context, tx kv.Transaction, key []byte) error {
	if update := ix.Kind.descriptor().update; update != nil {
		return updates{update(tx, ix, [][]byte{key[len(ix.Prefix):]}, nil)}.run(ctx)
	}
	tx.Clear(key)
	return nil
}

// VerifyDerived compares keys that follow from entries with these, some limit of them, from
// a position on; an empty one is the beginning. It returns the position to go on from, nil
// at the end. So an index of any size is verified in several transactions. A fault is a
// *[DerivedError]. The kind must have such keys: see [Kind.HasDerived].
func (ix *Index) VerifyDerived(ctx context.Context, tx kv.ReadTransaction, at []byte, limit int) (next []byte, err error) {
	return ix.Kind.descriptor().verify(ctx, tx, ix, at, limit)
}

// DerivedError says that a key contradicts the entries that it follows from.
type DerivedError struct {
	Key    []byte
	Reason string
	Err    error // the same, from the package that keeps the key
}

// Error implements error.
func (e *DerivedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DerivedError) Unwrap() error { return e.Err }
