// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Move gives a tenant another name. It takes one transaction, whatever the tenant
// holds: keys stay where they are, with records, entries, index states, quota and
// usage. The {Field} of its records has the new name from then on, in every program.
//
// Writes under the old name that have not committed yet conflict, are retried, and find
// no records there. Errors: [ErrNotFound], [ErrExists], *[NameError], *[RenameError],
// and *persistable.LockedError while the tenant, or one in it, is locked. After a lost
// acknowledgement Move recognizes its own move; if another process has moved or deleted the
// tenant since, the error wraps kv.ErrOutcomeUnknown.
func (s *Set) Move(ctx context.Context, from, to string) error {
	err := errors.Join(s.checkName(from), s.checkName(to))
	if err == nil {
		err = s.db.MoveDirectoryIf(ctx, s.Path(from), s.Path(to), func(tx kv.ReadTransaction, _ *directory.Directory) error {
			return s.checkMove(ctx, tx, from)
		})
	}
	if errors.Is(err, directory.ErrExists) {
		err = cmp.Or(s.checkExisting(ctx, to), err)
	}
	if err != nil {
		return fmt.Errorf("move tenant %s to %q: %w", pathText(s.Path(from)), to, existsError(missingError(err)))
	}
	return nil
}

// checkExisting returns a *[NameError] if the directory of a name is no tenant's.
func (s *Set) checkExisting(ctx context.Context, name string) error {
	return s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error { return s.mayChange(ctx, tx, name) })
}

// checkMove returns why a tenant cannot get another name.
func (s *Set) checkMove(ctx context.Context, tx kv.ReadTransaction, from string) error {
	if err := s.mayChange(ctx, tx, from); err != nil {
		return err
	}
	return s.checkRename(ctx, tx, from)
}

// existsError makes an error of the directory layer one of this package.
func existsError(err error) error {
	if errors.Is(err, directory.ErrExists) {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return err
}

// checkRename returns a *[RenameError] if a store of the tenant has an index over the
// tenant's name.
func (s *Set) checkRename(ctx context.Context, tx kv.ReadTransaction, from string) error {
	t, err := s.readTree(ctx, tx, from)
	if err != nil {
		return err
	}
	stores, err := readStores(ctx, tx, t)
	if err != nil {
		return err
	}
	return checkNames(stores, func(depth int) bool { return depth == len(s.parent) })
}
