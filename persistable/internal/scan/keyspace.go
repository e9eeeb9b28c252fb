// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Keyspace is where the records of a store are, or the entries of one index. A
// key is a prefix, the shard if they are scattered, and a suffix, which gives
// them their order: the id, or the values.
type Keyspace struct {
	Prefix []byte
	Shards index.Shards
}

// EntriesOf returns where the entries of an index are.
func EntriesOf(ix *index.Index) Keyspace { return Keyspace{ix.Prefix, ix.Scatter} }

// Append appends the key of the record with that packed id to dst.
func (k *Keyspace) Append(dst, id []byte) []byte {
	return append(k.Shards.Append(append(dst, k.Prefix...), id), id...)
}

// Suffix returns the suffix of a key that was read in one of the shards.
func (k *Keyspace) Suffix(key []byte) []byte {
	_, suffix, _ := k.Shards.Cut(key[len(k.Prefix):])
	return suffix
}

// RangesOf returns the ranges of keys that are within bounds, one for each shard.
func (k *Keyspace) RangesOf(b index.Bounds) (all []kv.KeyRange) {
	for i := range max(1, int(k.Shards)) {
		prefix := slices.Clone(k.Prefix)
		if k.Shards > 0 {
			prefix = k.Shards.AppendShard(prefix, i)
		}
		all = append(all, b.Range(prefix))
	}
	return all
}

// CutRecord returns the part of a record's key behind the prefix, given that key or
// that of one of the record's chunks. It reports whether key is one of these.
func (k *Keyspace) CutRecord(key []byte) (part []byte, ok bool) {
	if !bytes.HasPrefix(key, k.Prefix) {
		return nil, false
	}
	_, id, err := k.Shards.Cut(key[len(k.Prefix):])
	if err != nil || len(id) == 0 {
		return nil, false
	}
	rest, err := tuple.Skip(id)
	if err != nil {
		return nil, false
	}
	return key[len(k.Prefix) : len(key)-len(rest)], true
}
