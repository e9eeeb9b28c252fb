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
	d := &dump{left: all, mask: mask}
	if err := d.readTree(tuple.NewSubspace([]byte{0xfe}), ""); err != nil {
		return nil, err
	}
	for _, pair := range d.left {
		d.addLine("stray %x = %x", pair.Key, pair.Value)
	}
	slices.Sort(d.lines)
	return d.lines, nil
}

// Mask returns what is to be shown of a pair of the directory at path, whose
// key lacks the directory's prefix.
type Mask = func(path string, pair kv.KeyValue) kv.KeyValue

// dump are the lines that describe a database.
type dump struct {
	left  []kv.KeyValue // the pairs without a line yet
	mask  Mask
	lines []string
}

func (d *dump) addLine(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// takePrefix removes and returns the pairs with keys that begin with prefix.
func (d *dump) takePrefix(prefix []byte) (taken []kv.KeyValue) {
	d.left = slices.DeleteFunc(d.left, func(pair kv.KeyValue) bool {
		if !bytes.HasPrefix(pair.Key, prefix) {
			return false
		}
		taken = append(taken, pair)
		return true
	})
	return taken
}

// readTree reads the directories of a layer or of a partition.
func (d *dump) readTree(nodes tuple.Subspace, path string) error {
	root := nodes.Sub(nodes.Bytes())
	for _, pair := range d.takePrefix(root.Sub([]byte("version")).Bytes()) {
		d.addLine("%s: version %x", path, pair.Value)
	}
	d.takePrefix(root.Sub([]byte("hca")).Bytes())
	return d.readChildren(nodes, root, path)
}

func (d *dump) readChildren(nodes, parent tuple.Subspace, path string) error {
	for _, pair := range d.takePrefix(parent.Sub(0).Bytes()) {
		element, err := parent.Unpack(pair.Key)
		if err != nil {
			return err
		}
		if err := d.readNode(nodes, pair.Value, path+"/"+element[1].(string)); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) readNode(nodes tuple.Subspace, prefix []byte, path string) error {
	node := nodes.Sub(prefix)
	var layer strings.Builder
	for _, pair := range d.takePrefix(node.Sub([]byte("layer")).Bytes()) {
		layer.Write(pair.Value)
	}
	d.addLine("%s: layer %q", path, layer.String())
	for _, pair := range d.takePrefix(node.Sub("annotation").Bytes()) {
		d.addLine("%s: node %x = %x", path, pair.Key[len(node.Bytes()):], pair.Value)
	}
	read := func() error { return d.readChildren(nodes, node, path) }
	if layer.String() == directory.Partition {
		read = func() error { return d.readTree(tuple.NewSubspace(append(slices.Clone(prefix), 0xfe)), path) }
	}
	if err := read(); err != nil {
		return err
	}
	for _, pair := range d.takePrefix(prefix) {
		pair.Key = pair.Key[len(prefix):]
		if d.mask != nil {
			pair = d.mask(path, pair)
		}
		d.addLine("%s: %x = %x", path, pair.Key, pair.Value)
	}
	return nil
}
