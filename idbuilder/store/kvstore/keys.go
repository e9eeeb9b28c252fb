// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Letters of the keys in the directory.
const (
	letterDocument = "D" // (letter, kind, key) and (letter, kind, key, chunk)
	letterPing     = "P" // (letter)
	letterRevision = "R" // (letter)
	letterSequence = "S" // (letter, name)
	letterSchema   = "V" // (letter)
	letterDeleted  = "X" // (letter, kind)
	letterExpiry   = "Z" // (letter, nanoseconds, kind, key)
)

// keys makes the keys in a directory.
type keys struct{ prefix []byte }

func keysOf(d *directory.Directory) (keys, error) {
	prefix, err := d.Prefix()
	return keys{prefix}, err
}

// pack returns the key of a letter and the texts that follow it.
func (k keys) pack(letter string, texts ...string) []byte {
	b := tuple.AppendString(bytes.Clone(k.prefix), letter)
	for _, text := range texts {
		b = tuple.AppendString(b, text)
	}
	return b
}

func (k keys) schema() []byte                 { return k.pack(letterSchema) }
func (k keys) ping() []byte                   { return k.pack(letterPing) }
func (k keys) revision() []byte               { return k.pack(letterRevision) }
func (k keys) sequence(name string) []byte    { return k.pack(letterSequence, name) }
func (k keys) deleted(kind store.Kind) []byte { return k.pack(letterDeleted, string(kind)) }

// document returns the key of a document's head.
func (k keys) document(kind store.Kind, key string) []byte {
	return k.pack(letterDocument, string(kind), key)
}

// documentRange returns the range of a document's head and chunks.
func (k keys) documentRange(kind store.Kind, key string) kv.KeyRange {
	head := k.document(kind, key)
	return kv.KeyRange{Begin: head, End: append(bytes.Clone(head), 0xff)}
}

// list returns the range of the documents that a list may have.
func (k keys) list(kind store.Kind, o store.ListOptions) kv.KeyRange {
	begin := k.pack(letterDocument, string(kind))
	open := append(bytes.Clone(begin), 0x02) // of a string in a tuple; what follows is the text
	r := kv.PrefixRange(append(open, o.Prefix...))
	if after := k.documentRange(kind, o.After).End; o.After != "" && bytes.Compare(after, r.Begin) > 0 {
		r.Begin = after
	}
	if bytes.Compare(r.Begin, r.End) > 0 {
		r.Begin = r.End
	}
	return r
}

func (k keys) expiry(at int64, kind store.Kind, key string) []byte {
	b := tuple.AppendInt(k.pack(letterExpiry), at)
	return tuple.AppendString(tuple.AppendString(b, string(kind)), key)
}

// counter reads a number of eight bytes, little-endian; 0 if there is none.
func counter(ctx context.Context, tx kv.ReadTransaction, key []byte) (int64, error) {
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, corrupt(key, fmt.Errorf("a counter of %d bytes", len(value)))
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// corrupt is the error of a value that this package did not write.
func corrupt(key []byte, err error) error {
	return &store.CorruptError{
		Where:  "key " + tuple.Describe(key),
		Reason: "the value is damaged: restore it from a backup",
		Err:    err,
	}
}
