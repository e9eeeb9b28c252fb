// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// dump is a database below ff as the directory layer's format has it, read
// without any of the package's code.
type dump struct {
	version []byte
	nodes   []dumpNode
	windows []dumpWindows
	stray   []kv.KeyValue // keys that belong to nothing
	all     []kv.KeyValue
}

type dumpNode struct {
	path    []string
	prefix  []byte
	layer   string
	content []kv.KeyValue // keys without the prefix
}

// dumpWindows is the allocator of the outermost tree or of a partition.
type dumpWindows struct {
	partition []string
	counters  [][2]int64
	recent    int
}

func readDump(t testing.TB, db kv.Database, o directory.Options) dump {
	t.Helper()
	all, err := kv.ReadTransact(context.Background(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{Begin: nil, End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	})
	if err != nil {
		t.Fatalf("reading the database: %v", err)
	}
	d := &dumper{t: t, dump: dump{all: all}, left: map[string][]byte{}}
	for _, pair := range all {
		d.left[string(pair.Key)] = pair.Value
	}
	nodes := o.Nodes
	if len(nodes.Bytes()) == 0 {
		nodes = tuple.NewSubspace([]byte{0xfe})
	}
	d.version = d.tree(nodes, nil)
	for _, pair := range all {
		if _, left := d.left[string(pair.Key)]; left {
			d.stray = append(d.stray, pair)
		}
	}
	return d.dump
}

type dumper struct {
	dump
	t    testing.TB
	left map[string][]byte
}

// pop removes a key from what is left and returns its value, nil if absent.
func (d *dumper) pop(key []byte) []byte {
	value, ok := d.left[string(key)]
	delete(d.left, string(key))
	if ok && value == nil {
		value = []byte{}
	}
	return value
}

// popPrefix removes and returns all pairs whose keys begin with prefix, in order.
func (d *dumper) popPrefix(prefix []byte) []kv.KeyValue {
	var pairs []kv.KeyValue
	for _, pair := range d.all {
		if _, left := d.left[string(pair.Key)]; left && bytes.HasPrefix(pair.Key, prefix) {
			pairs = append(pairs, pair)
			delete(d.left, string(pair.Key))
		}
	}
	return pairs
}

func (d *dumper) tree(nodes tuple.Subspace, path []string) (version []byte) {
	root := nodes.Sub(nodes.Bytes())
	version = d.pop(root.Sub([]byte("version")).Bytes())
	d.allocator(root.Sub([]byte("hca")), path)
	d.children(nodes, root, path)
	return version
}

func (d *dumper) allocator(hca tuple.Subspace, path []string) {
	w := dumpWindows{partition: path}
	for _, pair := range d.popPrefix(hca.Sub(0).Bytes()) {
		t, err := hca.Unpack(pair.Key)
		if err != nil {
			d.t.Fatalf("counter %x: %v", pair.Key, err)
		}
		w.counters = append(w.counters, [2]int64{t[1].(int64), int64(binary.LittleEndian.Uint64(pair.Value))})
	}
	w.recent = len(d.popPrefix(hca.Sub(1).Bytes()))
	if len(w.counters) > 0 || w.recent > 0 {
		d.windows = append(d.windows, w)
	}
}

// children adds the subdirectories of a node, and theirs.
func (d *dumper) children(nodes, node tuple.Subspace, path []string) {
	for _, pair := range d.popPrefix(node.Sub(0).Bytes()) {
		t, err := node.Unpack(pair.Key)
		if err != nil {
			d.t.Fatalf("link %x: %v", pair.Key, err)
		}
		d.node(nodes, pair.Value, append(slices.Clone(path), t[1].(string)))
	}
}

func (d *dumper) node(nodes tuple.Subspace, prefix []byte, path []string) {
	key := nodes.Sub(prefix)
	layer := d.pop(key.Sub([]byte("layer")).Bytes())
	if layer == nil {
		d.t.Errorf("directory %q with prefix %x has no layer key: its node is gone, or two paths lead to it", path, prefix)
	}
	n := dumpNode{path: path, prefix: prefix, layer: string(layer)}
	i := len(d.nodes)
	d.nodes = append(d.nodes, n)
	if n.layer == directory.Partition {
		d.tree(tuple.NewSubspace(append(slices.Clone(prefix), 0xfe)), path)
		return
	}
	d.children(nodes, key, path)
	for _, pair := range d.popPrefix(prefix) {
		d.nodes[i].content = append(d.nodes[i].content, kv.KeyValue{Key: pair.Key[len(prefix):], Value: pair.Value})
	}
}

// checkSound fails the test if keys belong to nothing, or prefixes overlap.
func (d dump) checkSound(t testing.TB) {
	t.Helper()
	for _, pair := range d.stray {
		t.Errorf("stray key %x = %q", pair.Key, pair.Value)
	}
	for i, a := range d.nodes {
		for _, b := range d.nodes[i+1:] {
			inside := len(b.path) > len(a.path) && slices.Equal(b.path[:len(a.path)], a.path) && a.layer == directory.Partition
			if !inside && (bytes.HasPrefix(a.prefix, b.prefix) || bytes.HasPrefix(b.prefix, a.prefix)) {
				t.Errorf("prefixes overlap: %q has %x, %q has %x", a.path, a.prefix, b.path, b.prefix)
			}
		}
	}
}

func (n dumpNode) String() string { return fmt.Sprintf("%q %x %q", n.path, n.prefix, n.layer) }
