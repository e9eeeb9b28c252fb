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
			return pathError(path, i, "is empty")
		}
		if !utf8.ValidString(name) {
			return pathError(path, i, "is not valid UTF-8")
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

// Open opens the directory at path. It compares the layers of the directory and its
// parents with the expected ones. The prefix is valid in the transaction: using it
// in another one is unsafe if the directory is moved or removed (see [Cache]).
//
// Errors: [ErrNotFound], [ErrLayer], [ErrRoot], [ErrPath], [ErrVersion].
func (l *Layer) Open(ctx context.Context, t kv.ReadTransactor, path []string, expects ...Expect) (*Directory, error) {
	return l.open(ctx, t, path, 0, expects)
}

func (l *Layer) open(ctx context.Context, t kv.ReadTransactor, path []string, shift int, expects []Expect) (*Directory, error) {
	want, err := l.checkOpening(path, shift, expects)
	if err != nil {
		return nil, err
	}
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (*Directory, error) {
		t, err := l.followPath(ctx, tx, path)
		if err == nil {
			err = t.checkOpened(want)
		}
		if err != nil {
			return nil, fmt.Errorf("open directory %s: %w", pathString(path), err)
		}
		//persistvet:ignore txescape the caller asked for the directory, and is told to use it in one transaction
		return t.directory(), nil
	})
}

func (l *Layer) checkOpening(path []string, shift int, expects []Expect) (expectations, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("%w: it cannot be opened", ErrRoot)
	}
	if err := l.checkPath(path); err != nil {
		return nil, err
	}
	return expectationsOf(expects, len(path), shift)
}

// Exists reports whether there is a directory at path. The root always exists.
//
// Errors: [ErrPath], [ErrVersion].
func (l *Layer) Exists(ctx context.Context, t kv.ReadTransactor, path []string) (bool, error) {
	if err := l.checkPath(path); err != nil {
		return false, err
	}
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (bool, error) {
		t, err := l.followPath(ctx, tx, path)
		if err != nil {
			return false, fmt.Errorf("look for directory %s: %w", pathString(path), err)
		}
		return t.isComplete(), nil
	})
}

// List returns the names of the subdirectories of the directory at path, of
// the root if path is empty, in the order of their bytes. Keys among the names that are none
// hide no name: then the error joins a *[CorruptError] for each such key, and the names are
// returned with it.
//
// Errors: [ErrNotFound], [ErrPath], [ErrVersion], [ErrCorrupt].
func (l *Layer) List(ctx context.Context, t kv.ReadTransactor, path []string) ([]string, error) {
	return l.listIn(ctx, t, path, "", 0)
}

// listIn is list in a transaction of its own, if t is a database.
func (l *Layer) listIn(ctx context.Context, t kv.ReadTransactor, path []string, after string, limit int) (names []string, err error) {
	if err := l.checkPath(path); err != nil {
		return nil, err
	}
	err = t.ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		names, err = l.list(ctx, tx, path, after, limit)
		return err
	})
	if err != nil {
		err = fmt.Errorf("list directory %s: %w", pathString(path), err)
	}
	return names, err
}

// list returns the first limit names after the name after, or all of them for the limit 0. Keys
// that are not names do not count.
func (l *Layer) list(ctx context.Context, tx kv.ReadTransaction, path []string, after string, limit int) ([]string, error) {
	t, err := l.followPath(ctx, tx, path)
	if err != nil {
		return nil, err
	}
	if !t.isComplete() {
		return nil, ErrNotFound
	}
	t.enterPartition(tx)
	rest := t.parent.linksAfter(after)
	links := tx.GetRange(rest.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll})
	if err := t.awaitReads(ctx); err != nil {
		return nil, err
	}
	var names []string
	var faults []error
	for {
		damaged := len(faults)
		for pair, err := range links.All(ctx) {
			if err != nil {
				return nil, err
			}
			rest.Begin = kv.Successor(pair.Key)
			if name, err := decodeName(t.parent, pair.Key); err != nil {
				faults = append(faults, err)
			} else {
				names = append(names, name)
			}
		}
		if limit == 0 || len(names) == limit || len(faults) == damaged {
			return names, errors.Join(faults...)
		}
		links = tx.GetRange(rest.Selectors(), kv.RangeOptions{Limit: limit - len(names), Mode: kv.ModeWantAll})
	}
}

func (l *Layer) loadEntry(ctx context.Context, tx kv.ReadTransaction, at moment, path []string, old *entry) (*entry, error) {
	if old != nil {
		same, err := unchanged(ctx, tx, old.facts)
		if err != nil {
			return nil, err
		}
		if same {
			return &entry{moment: at, directory: old.directory, facts: old.facts}, nil
		}
	}
	t, err := l.followPath(ctx, tx, slices.Clone(path))
	if err != nil {
		return nil, err
	}
	if !t.isComplete() {
		return nil, ErrNotFound
	}
	return &entry{moment: at, directory: t.directory(), facts: t.facts}, nil
}

// ListAfter returns the first limit names of [Layer.List] after the name after, in the order
// of their bytes; the empty string stands before all names. If there are fewer than limit,
// they are the last ones. It reads no more than it returns, so a directory of any number
// of subdirectories can be listed page by page. Each call reads one version.
//
// Errors: [ErrNotFound], [ErrPath], [ErrVersion], and as of List [ErrCorrupt], with the names.
func (l *Layer) ListAfter(ctx context.Context, t kv.ReadTransactor, path []string, after string, limit int) ([]string, error) {
	if limit < 1 {
		return nil, fmt.Errorf("list directory %s: a limit of %d names; it must be positive", pathString(path), limit)
	}
	return l.listIn(ctx, t, path, after, limit)
}

// Subtree returns the directory at path and all directories in it, those in
// partitions as well, each before those that it contains, in the order of their paths.
// It reads one version, in two rounds for each level and 256 directories of it.
//
// Errors: those of [Layer.Open], and [ErrCorrupt].
func (l *Layer) Subtree(ctx context.Context, t kv.ReadTransactor, path []string) ([]*Directory, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) ([]*Directory, error) {
		top, err := l.Open(ctx, tx, path)
		if err != nil {
			return nil, err
		}
		all := []*Directory{top}
		for read := 0; read < len(all); {
			parents := all[read:min(read+concurrentReads, len(all))]
			below, err := readChildren(ctx, tx, parents)
			if err != nil {
				return nil, fmt.Errorf("list below directory %s: %w", pathString(path), err)
			}
			read += len(parents)
			all = append(all, below...)
		}
		slices.SortFunc(all, func(a, b *Directory) int { return slices.Compare(a.path, b.path) })
		return all, nil
	})
}
