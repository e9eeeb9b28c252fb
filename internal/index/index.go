// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/rank"
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

// Ranks returns the list of an index of the kind Rank. Its elements are what follows the
// index's prefix: the packed group, score and id.
func (ix *Index) Ranks() *rank.List {
	directory := ix.Prefix[:len(ix.Prefix)-len(ix.AppendPrefix(nil))]
	return &rank.List{Elements: ix.Prefix, Levels: appendLevels(slices.Clone(directory), ix.KeyName())}
}

// overhead is by how much the longest key that belongs to an entry is longer than the
// entry's own: the key of a count has a level, and a zero byte after it in conflict ranges.
func (ix *Index) overhead() int {
	if ix.Kind == Rank {
		return rank.LevelSize + 1
	}
	return 0
}

// appendLevels appends to a directory's prefix what the keys of a list's counts begin
// with: the packed ("L", key name).
func appendLevels(dst []byte, keyName string) []byte {
	return tuple.AppendString(tuple.AppendString(dst, "L"), keyName)
}

// ClearUnknown removes all that an index of any kind with that key name has below a
// directory's prefix, but for its violations.
func ClearUnknown(tx kv.Transaction, directory []byte, keyName string) {
	entries := tuple.AppendString(tuple.AppendString(slices.Clone(directory), "I"), keyName)
	tx.ClearRange(Bounds{}.Range(entries))
	tx.ClearRange(kv.PrefixRange(appendLevels(slices.Clone(directory), keyName)))
	tx.ClearRange(kv.PrefixRange(appendVersions(slices.Clone(directory), keyName)))
}

// ReadTotal reads the value of an entry of a count or a sum.
func (ix *Index) ReadTotal(value []byte) (Amount, error) {
	if ix.Kind == Sum {
		return ReadAmount(value)
	}
	n, err := ReadCount(value)
	return IntAmount(n), err
}

// AppendTotal appends the value of an entry of a count or a sum.
func (ix *Index) AppendTotal(dst []byte, a Amount) []byte {
	if ix.Kind == Sum {
		return a.AppendBytes(dst)
	}
	n, _ := a.Int64()
	return AppendCount(dst, n)
}

// AddTotal adds to the entry of a count or a sum under key. The entry is removed if the
// result is 0. The transaction conflicts with no other that adds to it.
func (ix *Index) AddTotal(tx kv.Transaction, key []byte, change Amount) {
	m := maintenance{tx: tx, ix: ix}
	m.add(key, ix.AppendTotal(nil, change))
}

// PadTotal returns the number to which AddTotal adds, where the value of an entry may be
// damaged: an engine fills up bytes that are missing with zeroes and drops those that are
// too many.
func (ix *Index) PadTotal(value []byte) Amount {
	padded := make([]byte, CountSize)
	if ix.Kind == Sum {
		padded = make([]byte, AmountSize)
	}
	copy(padded, value)
	a, _ := ix.ReadTotal(padded) // has its length
	return a
}

// VersionSize is the length of a version in bytes: the versionstamp of the commit and
// the number of the record within it, big-endian.
const VersionSize = 12

// The values of entries of the kind Version.
var (
	putEntry    = []byte{0}
	deleteEntry = []byte{1}
)

// VersionEntry is an entry of an index of the kind Version: the last change of one record.
type VersionEntry struct {
	Version []byte
	ID      []byte // packed
	Deleted bool   // a tombstone
}

// SetVersion makes the transaction's commit the last change of the record with that packed
// id. number tells the records that the transaction writes apart, and orders them; a
// further change of a record in the transaction takes the number of the first and replaces
// it. was is the version that the record had before the transaction, nil for none; its
// entry is removed. deleted makes the entry a tombstone.
//
// The transaction cannot read the keys that SetVersion writes before it has committed.
func (ix *Index) SetVersion(tx kv.Transaction, id, was []byte, number uint16, deleted bool) {
	if was != nil {
		tx.Clear(ix.AppendVersionEntry(nil, was, id))
	}
	tx.Atomic(kv.SetVersionstampedValue, append(ix.Versions(), id...), incompleteValue(number))
	value := putEntry
	if deleted {
		value = deleteEntry
	}
	tx.Atomic(kv.SetVersionstampedKey, ix.incompleteEntry(id, number), value)
}

// Versions returns what the keys begin with under which the versions of records are kept:
// the packed ("V", key name). The packed id follows.
func (ix *Index) Versions() []byte {
	directory := ix.Prefix[:len(ix.Prefix)-len(ix.AppendPrefix(nil))]
	return appendVersions(slices.Clone(directory), ix.KeyName())
}

func appendVersions(dst []byte, keyName string) []byte {
	return tuple.AppendString(tuple.AppendString(dst, "V"), keyName)
}

// AppendVersionEntry appends the key of a record's entry: the index's prefix, the version
// as a tuple's versionstamp, the packed id.
func (ix *Index) AppendVersionEntry(dst, version, id []byte) []byte {
	var stamp tuple.Versionstamp
	copy(stamp.Transaction[:], version)
	stamp.User = binary.BigEndian.Uint16(version[len(stamp.Transaction):])
	return append(tuple.AppendVersionstamp(append(dst, ix.Prefix...), stamp), id...)
}

// ReadVersionEntry reads an entry.
func (ix *Index) ReadVersionEntry(pair kv.KeyValue) (e VersionEntry, err error) {
	stamp, id, err := tuple.ReadVersionstamp(pair.Key[len(ix.Prefix):])
	if err == nil && (len(id) == 0 || len(pair.Value) != 1 || pair.Value[0] > deleteEntry[0]) {
		err = fmt.Errorf("the id is missing, or the value %x is unknown", pair.Value)
	}
	if err != nil {
		return e, &EntryError{ix.Definition, slices.Clone(pair.Key), "the entry is damaged", err}
	}
	e.Version = binary.BigEndian.AppendUint16(slices.Clone(stamp.Transaction[:]), stamp.User)
	return VersionEntry{Version: e.Version, ID: id, Deleted: pair.Value[0] == deleteEntry[0]}, nil
}

// incompleteEntry returns the operand of [kv.SetVersionstampedKey] for an entry.
func (ix *Index) incompleteEntry(id []byte, number uint16) []byte {
	key := tuple.AppendVersionstamp(slices.Clone(ix.Prefix), tuple.Incomplete(number))
	key = append(key, id...)
	return binary.LittleEndian.AppendUint32(key, uint32(len(ix.Prefix)+1)) // after the type code
}

// incompleteValue returns the operand of [kv.SetVersionstampedValue] for a version.
func incompleteValue(number uint16) []byte {
	value := binary.BigEndian.AppendUint16(make([]byte, VersionSize-2, VersionSize+4), number)
	return binary.LittleEndian.AppendUint32(value, 0)
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
