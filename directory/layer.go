// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Options say where a directory layer lives. All programs that share the
// directories must use the same.
type Options struct {
	// Nodes is where metadata is stored. The default value is the prefix fe,
	// as in every official binding.
	Nodes tuple.Subspace
	// Content is where the prefixes of directories are allocated. The default
	// value is the empty prefix: the whole database, short prefixes.
	Content tuple.Subspace
	// AllowManualPrefixes permits CreatePrefix. The default value is false.
	AllowManualPrefixes bool
	// AllowEmptyNames permits the empty string as an element of a path, as the
	// official layer does. The default value is false, since an empty element
	// nearly always comes from a variable that was not set.
	AllowEmptyNames bool
}

// Validate reports every fault of the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	if n := o.Nodes.Bytes(); n[0] == 0xff {
		errs = append(errs, fmt.Errorf("directory: Nodes %x: keys from ff on belong to the system", n))
	}
	if o.Nodes.Contains(o.Content.Bytes()) {
		errs = append(errs, fmt.Errorf("directory: Content %x lies in Nodes %x: prefixes would overlap the metadata", o.Content.Bytes(), o.Nodes.Bytes()))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if len(o.Nodes.Bytes()) == 0 {
		o.Nodes = tuple.NewSubspace([]byte{0xfe})
	}
	return o
}

// Layer is a directory layer: a tree of named directories, each with a short
// prefix for its keys. It is immutable, holds no state of the database, and is
// safe for concurrent use.
//
// Every verb takes a database or a transaction. Given a database it runs in a
// transaction of its own; given a transaction it becomes a part of it and
// takes effect with its commit. Verbs that write may be called concurrently
// in one transaction: they run one after another there.
type Layer struct {
	options Options
	tree    *tree
}

// New returns the directory layer that the options describe, or their faults.
// Nothing is read or written.
func New(o Options) (*Layer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newLayer(o), nil
}

func newLayer(o Options) *Layer {
	o = o.withDefaults()
	return &Layer{o, newTree(o.Nodes, o.Content, nil)}
}

var root = newLayer(Options{})

// Root returns the layer with the default options: the directories that every
// official binding calls the root directory.
func Root() *Layer { return root }

// checkPath reports the first element that can be no directory's name: empty
// (unless the layer allows it) or not UTF-8. Elements that are too long are
// found where their key is made.
func (l *Layer) checkPath(path []string) error {
	for i, name := range path {
		if name == "" && !l.options.AllowEmptyNames {
			return &PathError{slices.Clone(path), i, "is empty"}
		}
		if !utf8.ValidString(name) {
			return &PathError{slices.Clone(path), i, "is not valid UTF-8"}
		}
	}
	return nil
}

// followPath follows path as far as it exists. Each element costs one round of
// reads, and entering a partition one more.
func (l *Layer) followPath(ctx context.Context, tx kv.ReadTransaction, path []string) (*trail, error) {
	t := &trail{layer: l, path: path}
	t.enterTree(tx, l.tree)
	for range path {
		more, err := t.followLink(ctx, tx)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	return t, t.awaitReads(ctx)
}
