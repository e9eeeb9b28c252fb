// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// pageSize is how many names List and Count read in a transaction.
const pageSize = 1000

// Page returns the first limit names of tenants behind after, in the order of their
// bytes. The first page is the one behind "". A page of fewer names is the last one. It
// is empty if the directory of the tenants does not exist. Names that cannot be read hide no
// others: then the error is [ErrUnreadable], which names them, and the page has the others.
//
// Cost: a round for each element of the set's path, and one range read.
func (s *Set) Page(ctx context.Context, after string, limit int) (names []string, err error) {
	var unreadable error
	for len(names) < limit || limit < 1 {
		want := limit - len(names)
		page, err := s.layer.ListAfter(ctx, s.db.Engine(), s.parent, after, want)
		switch {
		case errors.Is(err, directory.ErrNotFound):
			return names, unreadable
		case errors.Is(err, directory.ErrCorrupt):
			unreadable = errors.Join(unreadable, fmt.Errorf("%w: %w", ErrUnreadable, err))
		case err != nil:
			return names, err
		}
		if names, err = s.appendTenants(ctx, names, page); err != nil || len(page) < want {
			return names, errors.Join(err, unreadable)
		}
		after = page[len(page)-1]
	}
	return names, unreadable
}

// appendTenants appends the names of a page but for that of the work directory, in a
// set that has it.
func (s *Set) appendTenants(ctx context.Context, names, page []string) ([]string, error) {
	at, found := slices.BinarySearch(page, workName)
	if !found {
		return append(names, page...), nil
	}
	is, err := kv.ReadTransact(ctx, s.db.Engine(), func(tx kv.ReadTransaction) (bool, error) { return s.isWork(ctx, tx, workName) })
	if err != nil {
		return names, err
	}
	if !is {
		return append(names, page...), nil
	}
	return append(append(names, page[:at]...), page[at+1:]...), nil
}

// List yields the names of all tenants in the order of their bytes, page by page: each
// page is of one version, and memory is bounded whatever the number of tenants. A
// tenant that is there all the time is yielded once. An error comes last, also
// [ErrUnreadable].
func (s *Set) List(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var unreadable error
		for after, more := "", true; more; {
			names, err := s.Page(ctx, after, pageSize)
			for _, name := range names {
				if !yield(name, nil) {
					return
				}
				after = name
			}
			more = len(names) == pageSize
			if unreadable = errors.Join(unreadable, err); err != nil && !errors.Is(err, ErrUnreadable) {
				break
			}
		}
		if unreadable != nil {
			yield("", unreadable)
		}
	}
}

// Count returns the number of tenants. It reads their names, page by page, so it costs
// about a tenth of a second for a hundred thousand of them.
func (s *Set) Count(ctx context.Context) (n int64, err error) {
	for _, err := range s.List(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Exists reports whether there is a tenant of that name.
func (s *Set) Exists(ctx context.Context, name string) (bool, error) {
	if err := s.checkName(name); err != nil {
		return false, err
	}
	return s.layer.Exists(ctx, s.db.Engine(), s.Path(name))
}

// ApproximateSize estimates how many bytes the keys and values of a tenant have, by the
// engine's sample: it reads none of them. The estimate of a small tenant may be 0,
// one above 3 MB is about 10 % off.
//
// Cost: two rounds for each level of the directories of the tenant.
func (s *Set) ApproximateSize(ctx context.Context, name string) (int64, error) {
	if err := s.checkName(name); err != nil {
		return 0, err
	}
	return kv.ReadTransact(ctx, s.db.Engine(), func(tx kv.ReadTransaction) (int64, error) {
		t, err := s.readTree(ctx, tx.Snapshot(), name)
		if err != nil {
			return 0, err
		}
		return t.estimateSize(ctx, tx)
	})
}

// readTree reads the directories of a tenant.
func (s *Set) readTree(ctx context.Context, tx kv.ReadTransaction, name string) (tree, error) {
	t, err := readTree(ctx, tx, s.layer, s.Path(name))
	return t, missingError(err)
}
