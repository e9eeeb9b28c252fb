// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// Letters of the keys in the directory, beside those of leasefdb.
const (
	letterMember  = "M" // (letter, name)
	letterVersion = "V" // (letter)
)

// keys makes the keys in a directory.
type keys struct{ prefix []byte }

func keysOf(d *directory.Directory, err error) (keys, error) {
	if err != nil {
		return keys{}, err
	}
	prefix, err := d.Prefix()
	return keys{prefix}, err
}

func (k keys) letter(letter string) []byte { return tuple.AppendString(bytes.Clone(k.prefix), letter) }

func (k keys) version() []byte { return k.letter(letterVersion) }

func (k keys) member(name string) []byte { return tuple.AppendString(k.letter(letterMember), name) }

// bumpVersion counts a change of the topology. It reads nothing, so that changes of several
// members do not conflict.
func (k keys) bumpVersion(tx kv.Transaction) { tx.Atomic(kv.Add, k.version(), kv.Int64(1)) }

// startVersion begins to read the version.
func (k keys) startVersion(tx kv.ReadTransaction) func(context.Context) (int64, error) {
	at := k.version()
	read := tx.Snapshot().Get(at)
	return func(ctx context.Context) (int64, error) {
		value, err := read.Get(ctx)
		if err != nil || value == nil {
			return 0, err
		}
		if len(value) != 8 || value[7] > 127 {
			return 0, &CorruptError{Key: at, Err: fmt.Errorf("%x is no version", value)}
		}
		return int64(binary.LittleEndian.Uint64(value)), nil
	}
}

// startMembers begins to read all members.
func (k keys) startMembers(tx kv.ReadTransaction) func(context.Context) ([]placement.Member, error) {
	prefix := k.letter(letterMember)
	read := tx.Snapshot().GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
	return func(ctx context.Context) ([]placement.Member, error) {
		pairs, err := read.Slice(ctx)
		if err != nil {
			return nil, err
		}
		members := make([]placement.Member, 0, len(pairs))
		for _, pair := range pairs {
			m, err := decodePair(prefix, pair)
			if err != nil {
				return nil, &CorruptError{Key: bytes.Clone(pair.Key), Err: err}
			}
			members = append(members, placement.Member(m))
		}
		return members, nil
	}
}

func decodePair(prefix []byte, pair kv.KeyValue) (row, error) {
	name, rest, err := tuple.ReadString(pair.Key[len(prefix):])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the name", len(rest))
	}
	if err != nil {
		return row{}, err
	}
	return decode(name, pair.Value)
}
