// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Containing returns the directory to whose content a key belongs, for tools that show
// keys. It is the innermost one; a partition is returned only for keys of none of its
// directories, its own metadata among them. The error is [ErrNotFound] for keys of no
// directory, such as the metadata of the layer.
//
// The database has no way from a prefix to its path: Containing reads the links of all
// directories of the layer, and those of each partition on the way.
func (l *Layer) Containing(ctx context.Context, t kv.ReadTransactor, key []byte) (*Directory, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (*Directory, error) {
		path, err := l.pathContaining(ctx, tx, key)
		if err != nil {
			return nil, err
		}
		return l.Open(ctx, tx, path)
	})
}

// pathContaining goes from a partition to the next one inside it.
func (l *Layer) pathContaining(ctx context.Context, tx kv.ReadTransaction, key []byte) (path []string, err error) {
	for t := l.tree; ; {
		prefix, err := t.prefixOf(ctx, tx, key)
		if err != nil {
			return nil, err
		}
		if prefix == nil {
			break
		}
		names, err := t.pathOf(ctx, tx, prefix)
		if err != nil {
			return nil, err
		}
		path = append(slices.Clone(path), names...)
		layer, err := tx.Get(t.node(prefix).layerKey()).Get(ctx)
		if err != nil {
			return nil, err
		}
		if string(layer) != Partition {
			return path, nil
		}
		t = inPartition(prefix, path)
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("%w: the key belongs to no directory", ErrNotFound)
	}
	return path, nil
}

// prefixOf returns the prefix of the directory of the tree to which a key belongs; nil
// if there is none. No directory's prefix begins with that of another one, so it is that
// of the last node that is not behind the key.
func (t *tree) prefixOf(ctx context.Context, tx kv.ReadTransaction, key []byte) ([]byte, error) {
	if t.nodes.Contains(key) {
		return nil, nil
	}
	before := kv.KeyRange{Begin: rangeOf(t.nodes).Begin, End: t.node(kv.Successor(key)).Bytes()}
	pairs, err := tx.GetRange(before.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	prefix, err := decodeNodePrefix(t.nodes, pairs[0].Key)
	if err != nil || !bytes.HasPrefix(key, prefix) || bytes.Equal(prefix, t.nodes.Bytes()) {
		return nil, err
	}
	return prefix, nil
}

// pathOf returns the path in the tree to the directory with a prefix.
func (t *tree) pathOf(ctx context.Context, tx kv.ReadTransaction, prefix []byte) ([]string, error) {
	links, err := t.linksByTarget(ctx, tx)
	if err != nil {
		return nil, err
	}
	var path []string
	for at := prefix; !bytes.Equal(at, t.nodes.Bytes()); {
		l, ok := links[string(at)]
		if !ok || len(path) > len(links) {
			return nil, &CorruptError{Key: t.node(at).Bytes(), Reason: "no links lead from the root to this directory"}
		}
		path = append(path, l.name)
		at = l.parent
	}
	slices.Reverse(path)
	return path, nil
}

// target is where a link is: the prefix of the parent, and the name in it.
type target struct {
	parent []byte
	name   string
}

// linksByTarget reads all links of the tree, by the prefix to which they lead.
func (t *tree) linksByTarget(ctx context.Context, tx kv.ReadTransaction) (map[string]target, error) {
	links := map[string]target{}
	all := tx.GetRange(rangeOf(t.nodes).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
	for pair, err := range all.All(ctx) {
		if err != nil {
			return nil, err
		}
		parent, err := decodeNodePrefix(t.nodes, pair.Key)
		if err != nil {
			return nil, err
		}
		name, err := decodeName(t.node(parent), pair.Key)
		if err != nil {
			continue // the layer, an annotation, or the allocator's
		}
		links[string(pair.Value)] = target{parent, name}
	}
	return links, nil
}
