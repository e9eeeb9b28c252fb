// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Of returns everything that a database holds, a line for each directory and
// each pair, by path and key: prefixes are replaced by the paths that they
// belong to, and the allocator's notes of them are left out. mask, which may be
// nil, changes what is shown of a directory's pairs.
func Of(ctx context.Context, db kv.ReadTransactor, mask Mask) ([]string, error) {
	all, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		everything := kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}
		return tx.GetRange(everything.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	})
	if err != nil {
		return nil, err
	}
	r := &reading{left: all, mask: mask}
	if err := r.tree(tuple.NewSubspace([]byte{0xfe}), ""); err != nil {
		return nil, err
	}
	for _, pair := range r.left {
		r.add("stray %x = %x", pair.Key, pair.Value)
	}
	slices.Sort(r.lines)
	return r.lines, nil
}

// Mask returns what is to be shown of a pair of the directory at path, whose
// key lacks the directory's prefix.
type Mask = func(path string, pair kv.KeyValue) kv.KeyValue

// reading is a database that is being taken apart.
type reading struct {
	left  []kv.KeyValue // what was not yet understood
	mask  Mask
	lines []string
}

func (r *reading) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// take removes the pairs whose keys begin with prefix.
func (r *reading) take(prefix []byte) (taken []kv.KeyValue) {
	r.left = slices.DeleteFunc(r.left, func(pair kv.KeyValue) bool {
		if !bytes.HasPrefix(pair.Key, prefix) {
			return false
		}
		taken = append(taken, pair)
		return true
	})
	return taken
}

// tree reads the directories of a layer or of a partition.
func (r *reading) tree(nodes tuple.Subspace, path string) error {
	root := nodes.Sub(nodes.Bytes())
	for _, pair := range r.take(root.Sub([]byte("version")).Bytes()) {
		r.add("%s: version %x", path, pair.Value)
	}
	r.take(root.Sub([]byte("hca")).Bytes())
	return r.children(nodes, root, path)
}

func (r *reading) children(nodes, parent tuple.Subspace, path string) error {
	for _, pair := range r.take(parent.Sub(0).Bytes()) {
		element, err := parent.Unpack(pair.Key)
		if err != nil {
			return err
		}
		if err := r.node(nodes, pair.Value, path+"/"+element[1].(string)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) node(nodes tuple.Subspace, prefix []byte, path string) error {
	node := nodes.Sub(prefix)
	var layer strings.Builder
	for _, pair := range r.take(node.Sub([]byte("layer")).Bytes()) {
		layer.Write(pair.Value)
	}
	r.add("%s: layer %q", path, layer.String())
	read := func() error { return r.children(nodes, node, path) }
	if layer.String() == directory.Partition {
		read = func() error { return r.tree(tuple.NewSubspace(append(slices.Clone(prefix), 0xfe)), path) }
	}
	if err := read(); err != nil {
		return err
	}
	for _, pair := range r.take(prefix) {
		pair.Key = pair.Key[len(prefix):]
		if r.mask != nil {
			pair = r.mask(path, pair)
		}
		r.add("%s: %x = %x", path, pair.Key, pair.Value)
	}
	return nil
}
