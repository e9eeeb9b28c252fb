// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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

// Layer is what a layer stores in a database, for the examples of [formats].
type Layer struct {
	Name  string                             // of the examples
	Open  func(testing.TB) kv.Database       // opens an empty database
	Write func(t *testing.T, db kv.Database) // stores what never changes
	Mask  func(line string) string           // replaces what is random in a line of [Of]; nil: nothing is
	Read  func(t *testing.T, db kv.Database) // reads all of it with the layer, and checks it
}

// Format returns the format of what the layer stores. An example has every pair of the
// database, so that it can be stored again. Two examples are compared as [Of] lists them:
// the directory layer chooses prefixes at random.
func (l *Layer) Format() formats.Format {
	return formats.Format{
		Name: l.Name,
		Write: func(t *testing.T) string {
			db := l.Open(t)
			l.Write(t, db)
			return Pairs(t, db)
		},
		Mask: func(t *testing.T, example string) string {
			db := l.Open(t)
			StorePairs(t, db, example)
			lines, err := Of(t.Context(), db, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range lines {
				if l.Mask != nil {
					lines[i] = l.Mask(lines[i])
				}
			}
			return strings.Join(lines, "\n")
		},
		Read: func(t *testing.T, example string) {
			db := l.Open(t)
			StorePairs(t, db, example)
			l.Read(t, db)
		},
	}
}

// Pairs returns the pairs of a database, a line for each, in hexadecimal.
func Pairs(t *testing.T, db kv.ReadTransactor) string {
	t.Helper()
	all, err := kv.ReadTransact(t.Context(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(context.Background())
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, pair := range all {
		fmt.Fprintf(&b, "%x = %s\n", pair.Key, describe(pair.Value))
	}
	return b.String()
}

// longRun is the least length of a run of one byte that is written as that byte, and how
// often it comes, as in 61*100000.
const longRun = 64

// describe returns the hexadecimal digits of a value, in parts around its long runs.
func describe(value []byte) string {
	var parts []string
	for plain := 0; len(value) > plain; {
		run := 1
		for plain+run < len(value) && value[plain+run] == value[plain] {
			run++
		}
		if run < longRun && plain+run < len(value) {
			plain += run
			continue
		}
		if run < longRun {
			plain, run = plain+run, 0
		}
		if plain > 0 {
			parts = append(parts, hex.EncodeToString(value[:plain]))
		}
		if run > 0 {
			parts = append(parts, fmt.Sprintf("%02x*%d", value[plain], run))
		}
		value, plain = value[plain+run:], 0
	}
	return strings.Join(parts, " ")
}

// StorePairs stores the pairs that Pairs has listed.
func StorePairs(t *testing.T, db kv.Transactor, example string) {
	t.Helper()
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		for line := range strings.Lines(example) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
			k, err := parse(key)
			if err != nil {
				return err
			}
			v, err := parse(value)
			if err != nil {
				return err
			}
			tx.Set(k, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// parse is the inverse of describe.
func parse(text string) (value []byte, err error) {
	value = []byte{}
	for part := range strings.FieldsSeq(text) {
		digits, times, repeated := strings.Cut(part, "*")
		b, err := hex.DecodeString(digits)
		n := 1
		if err == nil && repeated {
			n, err = strconv.Atoi(times)
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a value: %w", part, err)
		}
		value = append(value, bytes.Repeat(b, n)...)
	}
	return value, nil
}
