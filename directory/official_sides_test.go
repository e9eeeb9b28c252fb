// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package directory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	official "github.com/apple/foundationdb/bindings/go/src/fdb/directory"
	officialsubspace "github.com/apple/foundationdb/bindings/go/src/fdb/subspace"
	officialtuple "github.com/apple/foundationdb/bindings/go/src/fdb/tuple"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/tuple"
)

// implementation is a directory layer as both have it: this package's and the
// official Go layer.
type implementation interface {
	name() string
	create(path []string, layer string, orOpen bool) error
	createPrefix(path []string, prefix []byte) error
	open(path []string, layer string) error
	exists(path []string) (bool, error)
	list(path []string) ([]string, error)
	move(from, to []string) error
	remove(path []string) (bool, error)
	// look returns layer and prefix of a directory; a partition's is that of
	// the directories inside it and not told.
	look(path []string) (layer string, prefix []byte, err error)
	// note and read write and read a key in the directory.
	note(path []string, key tuple.Tuple, value string) error
	read(path []string, key tuple.Tuple) (string, error)
}

// sides are both implementations on one tree of the test's own.
type sides struct {
	ours   ourSide
	theirs theirSide
	space  tuple.Subspace
}

func openSides(t *testing.T) sides {
	t.Helper()
	db, prefix := enginetest.OpenOwn(t, fdbkv.Options{})
	space := tuple.NewSubspace([]byte(prefix))
	nodes := append(space.Bytes(), 0xfe)
	layer := must[*directory.Layer](t)(directory.New(directory.Options{
		Nodes: tuple.NewSubspace(nodes), Content: space, AllowManualPrefixes: true,
	}))
	return sides{
		ours:   ourSide{db, layer},
		theirs: theirSide{db.Unwrap(), official.NewDirectoryLayer(officialsubspace.FromBytes(nodes), officialsubspace.FromBytes(space.Bytes()), true)},
		space:  space,
	}
}

func (s sides) both() []implementation { return []implementation{s.ours, s.theirs} }

// ourSide is this package.
type ourSide struct {
	db    kv.Database
	layer *directory.Layer
}

func (ourSide) name() string { return "ours" }

func expect(layer string) []directory.Expect {
	if layer == "" {
		return nil
	}
	return []directory.Expect{directory.As(layer)}
}

func (o ourSide) create(path []string, layer string, orOpen bool) (err error) {
	if orOpen {
		_, err = o.layer.CreateOrOpen(context.Background(), o.db, path, expect(layer)...)
	} else {
		_, err = o.layer.Create(context.Background(), o.db, path, expect(layer)...)
	}
	return err
}

func (o ourSide) createPrefix(path []string, prefix []byte) error {
	_, err := o.layer.CreatePrefix(context.Background(), o.db, path, prefix)
	return err
}

func (o ourSide) open(path []string, layer string) error {
	_, err := o.layer.Open(context.Background(), o.db, path, expect(layer)...)
	return err
}

func (o ourSide) exists(path []string) (bool, error) {
	return o.layer.Exists(context.Background(), o.db, path)
}

func (o ourSide) list(path []string) ([]string, error) {
	return o.layer.List(context.Background(), o.db, path)
}

func (o ourSide) move(from, to []string) error {
	_, err := o.layer.Move(context.Background(), o.db, from, to)
	return err
}

func (o ourSide) remove(path []string) (bool, error) {
	return o.layer.RemoveIfExists(context.Background(), o.db, path)
}

func (o ourSide) look(path []string) (layer string, prefix []byte, err error) {
	d, err := o.layer.Open(context.Background(), o.db, path)
	if err != nil {
		return "", nil, err
	}
	if !d.IsPartition() {
		prefix, err = d.Prefix()
	}
	return d.Layer(), prefix, err
}

func (o ourSide) note(path []string, key tuple.Tuple, value string) error {
	return o.db.Transact(context.Background(), func(tx kv.Transaction) error {
		packed, err := o.key(tx, path, key)
		if err == nil {
			tx.Set(packed, []byte(value))
		}
		return err
	})
}

func (o ourSide) read(path []string, key tuple.Tuple) (string, error) {
	value, err := kv.ReadTransact(context.Background(), o.db, func(tx kv.ReadTransaction) ([]byte, error) {
		packed, err := o.key(tx, path, key)
		if err != nil {
			return nil, err
		}
		return tx.Get(packed).Get(context.Background())
	})
	return string(value), err
}

func (o ourSide) key(tx kv.ReadTransaction, path []string, key tuple.Tuple) ([]byte, error) {
	d, err := o.layer.Open(context.Background(), tx, path)
	if err != nil {
		return nil, err
	}
	s, err := d.Subspace()
	if err != nil {
		return nil, err
	}
	return s.Pack(key)
}

// theirSide is the official Go layer.
type theirSide struct {
	db    fdb.Database
	layer official.Directory
}

func (theirSide) name() string { return "theirs" }

// asked returns a layer as the official one takes it: nil is not compared.
func asked(layer string) []byte {
	if layer == "" {
		return nil
	}
	return []byte(layer)
}

func (o theirSide) create(path []string, layer string, orOpen bool) (err error) {
	if orOpen {
		_, err = o.layer.CreateOrOpen(o.db, path, asked(layer))
	} else {
		_, err = o.layer.Create(o.db, path, asked(layer))
	}
	return err
}

func (o theirSide) createPrefix(path []string, prefix []byte) error {
	_, err := o.layer.CreatePrefix(o.db, path, nil, prefix)
	return err
}

func (o theirSide) open(path []string, layer string) error {
	_, err := o.layer.Open(o.db, path, asked(layer))
	return err
}

func (o theirSide) exists(path []string) (bool, error)   { return o.layer.Exists(o.db, path) }
func (o theirSide) list(path []string) ([]string, error) { return o.layer.List(o.db, path) }
func (o theirSide) remove(path []string) (bool, error)   { return o.layer.Remove(o.db, path) }

func (o theirSide) move(from, to []string) error {
	_, err := o.layer.Move(o.db, from, to)
	return err
}

func (o theirSide) look(path []string) (layer string, prefix []byte, err error) {
	d, err := o.layer.Open(o.db, path, nil)
	if err != nil {
		return "", nil, err
	}
	if layer = string(d.GetLayer()); layer != directory.Partition {
		prefix = d.Bytes()
	}
	return layer, prefix, nil
}

var errIsPartition = errors.New("a partition has no keys of its own")

func (o theirSide) note(path []string, key tuple.Tuple, value string) error {
	_, err := o.db.Transact(func(tr fdb.Transaction) (any, error) {
		packed, err := o.key(tr, path, key)
		if err == nil {
			tr.Set(packed, []byte(value))
		}
		return nil, err
	})
	return err
}

func (o theirSide) read(path []string, key tuple.Tuple) (string, error) {
	value, err := o.db.ReadTransact(func(tr fdb.ReadTransaction) (any, error) {
		packed, err := o.key(tr, path, key)
		if err != nil {
			return []byte(nil), err
		}
		return tr.Get(packed).Get()
	})
	if err != nil {
		return "", err
	}
	return string(value.([]byte)), nil
}

func (o theirSide) key(tr fdb.ReadTransaction, path []string, key tuple.Tuple) (fdb.Key, error) {
	d, err := o.layer.Open(tr, path, nil)
	if err != nil {
		return nil, err
	}
	if string(d.GetLayer()) == directory.Partition {
		return nil, errIsPartition
	}
	theirs := officialtuple.Tuple{}
	for _, element := range key {
		theirs = append(theirs, element)
	}
	return d.Pack(theirs), nil
}
