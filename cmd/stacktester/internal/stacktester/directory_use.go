// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/tuple"
)

func removeDirectory(c *call) error {
	path := c.popOptionalPath()
	return c.directory().Remove(c.ctx, c.write, path)
}

func removeDirectoryIfExists(c *call) error {
	path := c.popOptionalPath()
	_, err := c.directory().RemoveIfExists(c.ctx, c.write, path)
	return err
}

func listDirectory(c *call) error {
	path := c.popOptionalPath()
	names, err := c.directory().List(c.ctx, c.read, path)
	return c.result(packStrings(names), err)
}

func directoryExists(c *call) error {
	path := c.popOptionalPath()
	exists, err := c.directory().Exists(c.ctx, c.read, path)
	return c.result(oneIf(exists), err)
}

func packKey(c *call) error {
	items := c.popItems()
	key, err := c.subspace().Pack(items)
	return c.result(key, err)
}

func unpackKey(c *call) error {
	key := c.popBytes()
	items, err := c.subspace().Unpack(key)
	for _, item := range items {
		c.push(item)
	}
	return err
}

func directoryRange(c *call) error {
	items := c.popItems()
	key, err := c.subspace().Pack(items)
	if err != nil {
		return err
	}
	begin, end := tuple.NewSubspace(key).Range()
	c.push(begin)
	c.push(end)
	return nil
}

func directoryContains(c *call) error {
	key := c.popBytes()
	c.push(oneIf(c.subspace().Contains(key)))
	return nil
}

func stripPrefix(c *call) error {
	key := c.popBytes()
	rest, err := c.subspace().Strip(key)
	return c.result(append([]byte{}, rest...), err)
}

// logSubspace writes the prefix of the current directory.
func logSubspace(c *call) error {
	prefix := c.popBytes()
	c.tx.Set(tuple.NewSubspace(prefix).Sub(c.dirs.index).Bytes(), c.subspace().Bytes())
	return nil
}

// logDirectory writes what is known of the current directory.
func logDirectory(c *call) error {
	prefix := c.popBytes()
	d := c.directory()
	exists, err := d.Exists(c.ctx, c.tx, nil)
	if err != nil {
		return err
	}
	var children []string
	if exists {
		if children, err = d.List(c.ctx, c.tx, nil); err != nil {
			return err
		}
	}
	var path []string
	var layer string
	if d, ok := d.(*directory.Directory); ok {
		path, layer = d.Path(), d.Layer()
	}
	log := tuple.NewSubspace(prefix).Sub(c.dirs.index)
	for name, fact := range map[string][]byte{
		"path":     packStrings(path),
		"layer":    tuple.Tuple{[]byte(layer)}.MustPack(),
		"exists":   tuple.Tuple{oneIf(exists)}.MustPack(),
		"children": packStrings(children),
	} {
		c.tx.Set(log.Sub(name).Bytes(), fact)
	}
	return nil
}

func packStrings(names []string) []byte {
	packed := []byte{}
	for _, name := range names {
		packed = tuple.AppendString(packed, name)
	}
	return packed
}

func oneIf(condition bool) int64 {
	if condition {
		return 1
	}
	return 0
}
