// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// directories is a program's list of what it has opened, and its place in it.
type directories struct {
	list    []any // *directory.Layer, *directory.Directory, tuple.Subspace; nil for what failed
	index   int64
	onError int64 // the place to be at instead of one that failed
}

// newDirectories begins with the tree that all official bindings use. Paths in
// it may have empty elements.
func newDirectories() directories {
	root, err := newLayer(directory.Options{})
	if err != nil {
		panic(err) // the options are constant
	}
	return directories{list: []any{root}}
}

func newLayer(o directory.Options) (*directory.Layer, error) {
	o.AllowEmptyNames = true
	return directory.New(o)
}

func (d *directories) at(index int64) (any, error) {
	if index < 0 || index >= int64(len(d.list)) {
		return nil, fmt.Errorf("place %d of a list of %d directories", index, len(d.list))
	}
	return d.list[index], nil
}

// verbs is what layers and directories have in common.
type verbs interface {
	CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...directory.Expect) (*directory.Directory, error)
	Create(ctx context.Context, t kv.Transactor, path []string, expects ...directory.Expect) (*directory.Directory, error)
	CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...directory.Expect) (*directory.Directory, error)
	Open(ctx context.Context, t kv.ReadTransactor, path []string, expects ...directory.Expect) (*directory.Directory, error)
	Exists(ctx context.Context, t kv.ReadTransactor, path []string) (bool, error)
	List(ctx context.Context, t kv.ReadTransactor, path []string) ([]string, error)
	Move(ctx context.Context, t kv.Transactor, from, to []string, conditions ...directory.Condition) (*directory.Directory, error)
	Remove(ctx context.Context, t kv.Transactor, path []string, conditions ...directory.Condition) error
	RemoveIfExists(ctx context.Context, t kv.Transactor, path []string, conditions ...directory.Condition) (bool, error)
}

// subspaceOf returns the subspace of an item of the list.
func subspaceOf(item any) (tuple.Subspace, error) {
	switch v := item.(type) {
	case tuple.Subspace:
		return v, nil
	case *directory.Directory:
		return v.Subspace()
	}
	return tuple.Subspace{}, fmt.Errorf("%T has no subspace", item)
}

// opener is an instruction whose result is appended to the list.
type opener func(*call) (any, error)

var openers = map[string]opener{
	"DIRECTORY_CREATE_SUBSPACE": createSubspace,
	"DIRECTORY_CREATE_LAYER":    createLayer,
	"DIRECTORY_CREATE_OR_OPEN":  createOrOpenDirectory,
	"DIRECTORY_CREATE":          createDirectory,
	"DIRECTORY_OPEN":            openDirectory,
	"DIRECTORY_MOVE":            moveDirectory,
	"DIRECTORY_MOVE_TO":         moveDirectoryTo,
	"DIRECTORY_OPEN_SUBSPACE":   openSubspace,
}

var otherDirectoryOperations = map[string]operation{
	"DIRECTORY_CHANGE":           changeDirectory,
	"DIRECTORY_SET_ERROR_INDEX":  func(c *call) error { c.dirs.onError = c.popInteger(); return nil },
	"DIRECTORY_REMOVE":           removeDirectory,
	"DIRECTORY_REMOVE_IF_EXISTS": removeDirectoryIfExists,
	"DIRECTORY_LIST":             listDirectory,
	"DIRECTORY_EXISTS":           directoryExists,
	"DIRECTORY_PACK_KEY":         packKey,
	"DIRECTORY_UNPACK_KEY":       unpackKey,
	"DIRECTORY_RANGE":            directoryRange,
	"DIRECTORY_CONTAINS":         directoryContains,
	"DIRECTORY_STRIP_PREFIX":     stripPrefix,
	"DIRECTORY_LOG_SUBSPACE":     logSubspace,
	"DIRECTORY_LOG_DIRECTORY":    logDirectory,
}

// directoryOperations returns the instructions on directories. Whatever error
// they meet, the engine's included, is one and the same item.
func directoryOperations() map[string]operation {
	all := map[string]operation{}
	for name, op := range otherDirectoryOperations {
		all[name] = func(c *call) error {
			if err := op.execute(c); err != nil {
				c.push([]byte("DIRECTORY_ERROR"))
			}
			return nil
		}
	}
	for name, open := range openers {
		all[name] = func(c *call) error {
			var opened any
			op := operation(func(c *call) (err error) { opened, err = open(c); return err })
			if err := op.execute(c); err != nil {
				opened = nil
				c.push([]byte("DIRECTORY_ERROR"))
			}
			c.dirs.list = append(c.dirs.list, opened)
			return nil
		}
	}
	return all
}

func createSubspace(c *call) (any, error) {
	path, prefix := c.popItems(), c.popBytes()
	key, err := tuple.NewSubspace(prefix).Pack(path)
	return tuple.NewSubspace(key), err
}

func createLayer(c *call) (any, error) {
	nodesAt, contentAt, manual := c.popInteger(), c.popInteger(), c.popCondition()
	nodes, err := c.dirs.at(nodesAt)
	if err != nil {
		return nil, err
	}
	content, err := c.dirs.at(contentAt)
	if err != nil || nodes == nil || content == nil {
		return nil, err
	}
	o := directory.Options{AllowManualPrefixes: manual}
	if o.Nodes, err = subspaceOf(nodes); err != nil {
		return nil, err
	}
	if o.Content, err = subspaceOf(content); err != nil {
		return nil, err
	}
	return newLayer(o)
}

func createOrOpenDirectory(c *call) (any, error) {
	path, layer := c.popPath(), c.popLayer()
	return c.directory().CreateOrOpen(c.ctx, c.write, path, layer...)
}

func createDirectory(c *call) (any, error) {
	path, layer, prefix := c.popPath(), c.popLayer(), c.popOptionalBytes()
	d := c.directory()
	if prefix == nil {
		return d.Create(c.ctx, c.write, path, layer...)
	}
	return d.CreatePrefix(c.ctx, c.write, path, prefix, layer...)
}

func openDirectory(c *call) (any, error) {
	path, layer := c.popPath(), c.popLayer()
	return c.directory().Open(c.ctx, c.read, path, layer...)
}

func moveDirectory(c *call) (any, error) {
	from, to := c.popPath(), c.popPath()
	return c.directory().Move(c.ctx, c.write, from, to)
}

// moveDirectoryTo fails on a layer, which is the root and cannot move.
func moveDirectoryTo(c *call) (any, error) {
	path := c.popPath()
	d := c.directory()
	if d, ok := d.(*directory.Directory); ok {
		return d.MoveTo(c.ctx, c.write, path)
	}
	return nil, directory.ErrRoot
}

func openSubspace(c *call) (any, error) {
	path := c.popItems()
	key, err := c.subspace().Pack(path)
	return tuple.NewSubspace(key), err
}

// changeDirectory goes to a place of the list.
func changeDirectory(c *call) error {
	index := c.popInteger()
	item, err := c.dirs.at(index)
	if err == nil && item == nil {
		index = c.dirs.onError
		_, err = c.dirs.at(index)
	}
	if err == nil {
		c.dirs.index = index
	}
	return err
}
