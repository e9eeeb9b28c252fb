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

// newDirectories begins with the tree of all official bindings, whose paths
// may have empty elements.
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
	Move(ctx context.Context, t kv.Transactor, from, to []string) (*directory.Directory, error)
	Remove(ctx context.Context, t kv.Transactor, path []string) error
	RemoveIfExists(ctx context.Context, t kv.Transactor, path []string) (bool, error)
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
