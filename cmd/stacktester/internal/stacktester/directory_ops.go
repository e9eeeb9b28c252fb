// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/tuple"
)

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
	"DIRECTORY_SET_ERROR_INDEX":  func(c *call) error { c.dirs.onError = c.popInteger(); return c.fault },
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
			if err := op(c); err != nil {
				c.push([]byte("DIRECTORY_ERROR"))
			}
			return nil
		}
	}
	for name, open := range openers {
		all[name] = func(c *call) error {
			opened, err := open(c)
			if err != nil {
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
	if c.fault != nil {
		return nil, c.fault
	}
	key, err := tuple.NewSubspace(prefix).Pack(path)
	return tuple.NewSubspace(key), err
}

func createLayer(c *call) (any, error) {
	nodesAt, contentAt, manual := c.popInteger(), c.popInteger(), c.popCondition()
	if c.fault != nil {
		return nil, c.fault
	}
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
	d, err := c.directory()
	if err != nil {
		return nil, err
	}
	return d.CreateOrOpen(c.ctx, c.write, path, layer...)
}

func createDirectory(c *call) (any, error) {
	path, layer, prefix := c.popPath(), c.popLayer(), c.popOptionalBytes()
	d, err := c.directory()
	if err != nil {
		return nil, err
	}
	if prefix == nil {
		return d.Create(c.ctx, c.write, path, layer...)
	}
	return d.CreatePrefix(c.ctx, c.write, path, prefix, layer...)
}

func openDirectory(c *call) (any, error) {
	path, layer := c.popPath(), c.popLayer()
	d, err := c.directory()
	if err != nil {
		return nil, err
	}
	return d.Open(c.ctx, c.read, path, layer...)
}

func moveDirectory(c *call) (any, error) {
	from, to := c.popPath(), c.popPath()
	d, err := c.directory()
	if err != nil {
		return nil, err
	}
	return d.Move(c.ctx, c.write, from, to)
}

// moveDirectoryTo fails on a layer, which is the root and cannot move.
func moveDirectoryTo(c *call) (any, error) {
	path := c.popPath()
	d, err := c.directory()
	if err != nil {
		return nil, err
	}
	if d, ok := d.(*directory.Directory); ok {
		return d.MoveTo(c.ctx, c.write, path)
	}
	return nil, directory.ErrRoot
}

func openSubspace(c *call) (any, error) {
	path := c.popItems()
	s, err := c.subspace()
	if err != nil {
		return nil, err
	}
	key, err := s.Pack(path)
	return tuple.NewSubspace(key), err
}

// changeDirectory goes to a place of the list.
func changeDirectory(c *call) error {
	index := c.popInteger()
	if c.fault != nil {
		return c.fault
	}
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
