// SPDX-License-Identifier: Apache-2.0

package tenants

import (
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
// acknowledgement Move recognizes its own move.
func (s *Set) Move(ctx context.Context, from, to string) error {
	own := "" // the prefix that an earlier attempt has moved
	err := s.transact(ctx, func(tx kv.Transaction) error {
		if err := errors.Join(s.mayChange(ctx, tx, from), s.mayChange(ctx, tx, to)); err != nil {
			return err
		}
		if moved, err := s.hasPrefix(ctx, tx, to, own); moved || err != nil {
			return err
		}
		d, err := s.open(ctx, tx, from)
		if err != nil {
			return err
		}
		if err := s.checkAllUnlocked(ctx, tx, d); err != nil {
			return err
		}
		if err := s.checkRename(ctx, tx, from, to); err != nil {
			return err
		}
		own = string(d.Reserve().Begin)
		_, err = s.layer.Move(ctx, tx, s.Path(from), s.Path(to))
		return existsError(err)
	})
	if err != nil {
		return fmt.Errorf("move tenant %s to %q: %w", pathText(s.Path(from)), to, err)
	}
	return nil
}

// hasPrefix reports whether the tenant with that name has a prefix.
func (s *Set) hasPrefix(ctx context.Context, tx kv.ReadTransaction, name, prefix string) (bool, error) {
	if prefix == "" {
		return false, nil
	}
	d, err := s.layer.Open(ctx, tx, s.Path(name))
	if errors.Is(err, directory.ErrNotFound) {
		return false, nil
	}
	return err == nil && string(d.Reserve().Begin) == prefix, err
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
func (s *Set) checkRename(ctx context.Context, tx kv.ReadTransaction, from, to string) error {
	if from == to {
		return nil // the directory layer refuses it
	}
	t, err := s.readTree(ctx, tx, from)
	if err != nil {
		return err
	}
	stores, err := readStores(ctx, tx, t)
	if err != nil {
		return err
	}
	return checkNames(stores, len(s.parent))
}
