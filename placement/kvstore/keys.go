// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// Letters of the keys in the directory.
const (
	letterRow   = "F" // (letter, kind, id)
	letterEntry = "R" // (letter, kind, id, chunk)
)

// keys makes the keys in a directory.
type keys struct{ prefix []byte }

// keyFor returns the key of a letter and a placement key.
func (k keys) keyFor(letter string, key placement.Key) []byte {
	b := make([]byte, 0, len(k.prefix)+len(key.Kind)+len(key.ID)+16)
	b = tuple.AppendString(append(b, k.prefix...), letter)
	return tuple.AppendString(tuple.AppendString(b, key.Kind), key.ID)
}

// row returns the key of a row, which is the key of its fence.
func (k keys) row(key placement.Key) []byte { return k.keyFor(letterRow, key) }

// entry returns the range of an entry's chunks.
func (k keys) entry(key placement.Key) kv.KeyRange {
	b := k.keyFor(letterEntry, key)
	return kv.KeyRange{Begin: append(bytes.Clone(b), 0x00), End: append(b, 0xff)}
}

// chunk returns the key of a chunk of an entry.
func (k keys) chunk(key placement.Key, n int) []byte {
	return tuple.AppendInt(k.keyFor(letterEntry, key), int64(n))
}

// rowsAfter returns the range of all rows after that of a key.
func (k keys) rowsAfter(after placement.Key) kv.KeyRange {
	r := kv.PrefixRange(tuple.AppendString(bytes.Clone(k.prefix), letterRow))
	if after != (placement.Key{}) {
		r.Begin = append(k.row(after), 0x00)
	}
	return r
}

// keyOf returns the placement key of a row's key.
func (k keys) keyOf(row []byte) (key placement.Key, err error) {
	letter, rest, err := tuple.ReadString(bytes.TrimPrefix(row, k.prefix))
	if err == nil {
		key.Kind, rest, err = tuple.ReadString(rest)
	}
	if err == nil {
		key.ID, rest, err = tuple.ReadString(rest)
	}
	if err == nil && (letter != letterRow || len(rest) > 0) {
		err = fmt.Errorf("%d bytes follow", len(rest))
	}
	if err != nil {
		return key, &CorruptError{Key: bytes.Clone(row), Err: err}
	}
	return key, nil
}
