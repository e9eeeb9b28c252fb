// SPDX-License-Identifier: Apache-2.0

package scan

import "github.com/kazahana-db/kazahana/index"

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
