// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Version is the kind with one entry for each record, in the order of the commits that last
// wrote the records. It has no fields.
const Version Kind = "version"

const versionLetter = "V"

// A write maintains nothing of it: an entry depends on the version that the record had and
// on what else the transaction has written. The caller knows both, and calls
// [Index.SetVersion].
var versionKind = descriptor{kind: Version, idempotent: true, letter: versionLetter, fill: (*Fill).addToVersions}

// addToVersions makes room for the versions that the caller sets of a record.
func (f *Fill) addToVersions(i int, entries *Set, _ Record) {
	for n := range entries.Keys(i) {
		f.size += updatedKeys * f.indexes[i].fillSize(entries.Key(i, n), Record{})
	}
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
func (ix *Index) Versions() []byte { return ix.auxiliaryPrefix(versionLetter) }

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
