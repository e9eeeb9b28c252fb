// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// place is a directory whose contents are examined.
type place struct {
	metadata directory.Metadata
	path     []string
	prefix   []byte
	layer    string
	layers   []string // of the path's elements
}

// exists reports whether the directory is still there. Transactions that examine its
// contents ask: another program may remove it meanwhile.
func (p *place) exists(ctx context.Context, b *batch) (bool, error) {
	value, err := b.value(ctx, p.metadata.LayerKey(p.prefix))
	return value != nil, err
}

// keys returns the range of the directory's keys.
func (p *place) keys() kv.KeyRange { return kv.PrefixRange(bytes.Clone(p.prefix)) }

// below returns the range of the keys that begin with a letter and names.
func (p *place) below(letter string, names ...string) kv.KeyRange {
	return kv.PrefixRange(p.pack(letter, names...))
}

// pack returns the key of a letter and names.
func (p *place) pack(letter string, names ...string) []byte {
	b := tuple.AppendString(bytes.Clone(p.prefix), letter)
	for _, name := range names {
		b = tuple.AppendString(b, name)
	}
	return b
}

// finding returns a finding about a key of the directory.
func (p *place) finding(code string, key []byte, format string, args ...any) Finding {
	return newFinding(code, p.path, p.prefix, key, format, args...)
}
