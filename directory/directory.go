// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Directory is a directory that was opened or created: its path, and the
// prefix under which its keys are. It is immutable and safe for concurrent
// use. Its prefix is valid in the transaction that returned it; its verbs follow the
// path again and act on the directory that is there then.
type Directory struct {
	root   *Layer
	tree   *tree // whose node it is: that of the innermost partition around it
	path   []string
	layers []string // of the path's elements
	prefix []byte
	links  [][]byte // the keys that lead to it, outermost first
	nodes  []node   // of the path's elements
}

// Protect makes tx conflict with every move and removal of the directory or of
// one above it, by any program, as if tx had opened it. Call it before tx uses what
// another transaction has read of the directory.
func (d *Directory) Protect(tx kv.Transaction) error {
	for _, link := range d.links {
		if err := tx.AddReadConflictKey(link); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path from the layer's root, partitions included.
func (d *Directory) Path() []string { return slices.Clone(d.path) }

// Layer returns the layer with which the directory was created, often empty.
func (d *Directory) Layer() string { return d.layers[len(d.layers)-1] }

// IsPartition reports whether the directory is a partition.
func (d *Directory) IsPartition() bool { return d.Layer() == Partition }

// Prefix returns a copy of the bytes with which all keys of the directory, and
// no others, begin. For a partition it fails with [ErrPartition].
func (d *Directory) Prefix() ([]byte, error) {
	if d.IsPartition() {
		return nil, fmt.Errorf("%w: %s; open a directory inside it", ErrPartition, pathString(d.path))
	}
	return slices.Clone(d.prefix), nil
}

// Subspace returns the subspace of the directory's keys. For a partition it
// fails with [ErrPartition].
func (d *Directory) Subspace() (tuple.Subspace, error) {
	if d.IsPartition() {
		return tuple.Subspace{}, fmt.Errorf("%w: %s; open a directory inside it", ErrPartition, pathString(d.path))
	}
	return tuple.NewSubspace(d.prefix), nil
}

// String returns the path, layer and prefix for people.
func (d *Directory) String() string {
	return fmt.Sprintf("directory %s layer %q prefix %x", pathString(d.path), d.Layer(), d.prefix)
}

// CreateOrOpen is [Layer.CreateOrOpen] with a path relative to the directory.
func (d *Directory) CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path, orOpen: true}, expects)
}

// Create is [Layer.Create] with a path relative to the directory.
func (d *Directory) Create(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path}, expects)
}

// CreatePrefix is [Layer.CreatePrefix] with a path relative to the directory.
func (d *Directory) CreatePrefix(ctx context.Context, t kv.Transactor, path []string, prefix []byte, expects ...Expect) (*Directory, error) {
	return d.create(ctx, t, creation{path: path, prefix: append([]byte{}, prefix...)}, expects)
}

func (d *Directory) create(ctx context.Context, t kv.Transactor, c creation, expects []Expect) (*Directory, error) {
	if err := d.checkSelf(c.path); err != nil {
		return nil, err
	}
	c.path, c.shift = join(d.path, c.path), len(d.path)
	return d.root.create(ctx, t, c, expects)
}

// Open is [Layer.Open] with a path relative to the directory. The empty path
// opens the directory itself anew; a partition's is its root ([ErrRoot]).
func (d *Directory) Open(ctx context.Context, t kv.ReadTransactor, path []string, expects ...Expect) (*Directory, error) {
	if err := d.checkSelf(path); err != nil {
		return nil, err
	}
	return d.root.open(ctx, t, join(d.path, path), len(d.path), expects)
}

// checkSelf refuses the empty path in a partition, where it is the root.
func (d *Directory) checkSelf(path []string) error {
	if len(path) == 0 && d.IsPartition() {
		return fmt.Errorf("%w of the partition %s", ErrRoot, pathString(d.path))
	}
	return nil
}

// Exists is [Layer.Exists] with a path relative to the directory; the empty
// path asks whether it still exists itself.
func (d *Directory) Exists(ctx context.Context, t kv.ReadTransactor, path []string) (bool, error) {
	return d.root.Exists(ctx, t, join(d.path, path))
}

// List is [Layer.List] with a path relative to the directory.
func (d *Directory) List(ctx context.Context, t kv.ReadTransactor, path []string) ([]string, error) {
	return d.root.List(ctx, t, join(d.path, path))
}

// Move is [Layer.Move] with paths relative to the directory.
func (d *Directory) Move(ctx context.Context, t kv.Transactor, from, to []string) (*Directory, error) {
	return d.root.Move(ctx, t, join(d.path, from), join(d.path, to))
}

// MoveTo moves the directory itself to a path from the layer's root. See
// [Layer.Move] for the errors.
func (d *Directory) MoveTo(ctx context.Context, t kv.Transactor, to []string) (*Directory, error) {
	if !hasPrefix(to, d.tree.path) {
		return nil, fmt.Errorf("move directory %s to %s: %w", pathString(d.path), pathString(to), ErrBetweenPartitions)
	}
	return d.root.Move(ctx, t, d.path, to)
}

// Remove is [Layer.Remove] with a path relative to the directory; the empty
// path removes the directory itself.
func (d *Directory) Remove(ctx context.Context, t kv.Transactor, path []string) error {
	return d.root.Remove(ctx, t, join(d.path, path))
}

// RemoveIfExists is [Layer.RemoveIfExists] with a path relative to the directory.
func (d *Directory) RemoveIfExists(ctx context.Context, t kv.Transactor, path []string) (bool, error) {
	return d.root.RemoveIfExists(ctx, t, join(d.path, path))
}
