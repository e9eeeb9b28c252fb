// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Open opens the directory at path. It compares the layers of the directory and its
// parents with the expected ones. The prefix is valid in the transaction: using it
// in another one is unsafe if the directory is moved or removed (see [Cache]).
//
// Errors: [ErrNotFound], [*LayerError], [ErrRoot], [ErrPath], [ErrVersion].
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

// list returns the names behind after, all of them for the limit 0. Keys that are none do not
// count.
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
