// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// Set is the set of tenants in one directory. It is immutable and safe for concurrent
// use; making one costs nothing.
type Set struct {
	db     *persistable.DB
	layer  *directory.Layer
	parent []string
}

// Of returns the tenants that are the directories in the directory at path, which need
// not exist. For the Directory tag tenants/{TenantID}/orders the path is "tenants".
func Of(db *persistable.DB, path ...string) *Set {
	return &Set{db, db.Layer(), slices.Clone(path)}
}

// Path returns the path of a tenant's directory.
func (s *Set) Path(name string) []string { return append(slices.Clone(s.parent), name) }

// maxName is the longest name, in bytes: that of a store's argument.
const maxName = 4096

// checkName returns a *[NameError] for a name that no tenant can have.
func (s *Set) checkName(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "is empty: was the variable set?"
	case !utf8.ValidString(name):
		reason = "is not valid UTF-8"
	case len(name) > maxName:
		reason = fmt.Sprintf("has %d bytes; at most %d are possible", len(name), maxName)
	case s.db.HoldsSystem(s.Path(name)...):
		reason = "is a directory that the database itself needs"
	}
	if reason == "" {
		return nil
	}
	return &NameError{Path: s.Path(name), Reason: reason}
}

// transact runs fn in a transaction of the DB, so that the DB's fences hold.
func (s *Set) transact(ctx context.Context, fn func(tx kv.Transaction) error) error {
	return s.db.Transact(ctx, func(tx persistable.Tx) error { return fn(tx.KV()) })
}

// recount counts what is in the directories above the tenants after a change of the set.
func (s *Set) recount(ctx context.Context) error {
	return tenancy.Recount(ctx, s.transact, s.layer, s.parent)
}

// open opens the directory of a tenant.
func (s *Set) open(ctx context.Context, tx kv.ReadTransaction, name string) (*directory.Directory, error) {
	return s.openPath(ctx, tx, s.Path(name))
}

func (s *Set) openPath(ctx context.Context, tx kv.ReadTransaction, path []string) (*directory.Directory, error) {
	d, err := s.layer.Open(ctx, tx, path)
	return d, missingError(err)
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

// missingError makes an error of the directory layer one of this package.
func missingError(err error) error {
	if errors.Is(err, directory.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// checkPathUnlocked is [CheckUnlocked] of the directories on a path, as far as they exist.
func (s *Set) checkPathUnlocked(ctx context.Context, tx kv.ReadTransaction, path []string) error {
	for n := len(path); n > 0; n-- {
		d, err := s.layer.Open(ctx, tx, path[:n])
		if err == nil {
			return CheckUnlocked(ctx, tx, d)
		}
		if !errors.Is(err, directory.ErrNotFound) {
			return err
		}
	}
	return nil
}

// checkAllUnlocked is [CheckUnlocked] of a directory and of all directories in it.
func (s *Set) checkAllUnlocked(ctx context.Context, tx kv.ReadTransaction, d *directory.Directory) error {
	all, err := s.layer.Subtree(ctx, tx, d.Path())
	if err != nil {
		return err
	}
	return CheckUnlocked(ctx, tx, all...)
}

// workName is the directory, in the root or in a partition's, in which the database
// keeps what it needs.
var workName = tenancy.WorkPath[0]

// work returns the path of the directory for tenants of the set that are arriving or
// removed. It is in the partition of the tenants, because a directory can only be
// moved within one.
func (s *Set) work(ctx context.Context, tx kv.ReadTransaction, more ...string) ([]string, error) {
	var layers []string
	if len(s.parent) > 0 {
		d, err := s.openPath(ctx, tx, s.parent)
		if err != nil {
			return nil, err
		}
		layers = d.Layers()
	}
	root := 0
	for i, layer := range layers {
		if layer == directory.Partition {
			root = i + 1
		}
	}
	var set []string
	for _, name := range s.parent[root:] {
		set = append(set, url.PathEscape(name))
	}
	path := append(slices.Concat(s.parent[:root], tenancy.WorkPath), shorten("/"+strings.Join(set, "/")))
	return append(path, more...), nil
}

// shorten replaces a name that is too long by its hash.
func shorten(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return "#" + hex.EncodeToString(sum[:])
}

// isWork reports whether a name in the set is that of the work directory: only a set
// in a root has it.
func (s *Set) isWork(ctx context.Context, tx kv.ReadTransaction, name string) (bool, error) {
	if name != workName {
		return false, nil
	}
	work, err := s.work(ctx, tx)
	return err == nil && slices.Equal(work[:len(work)-2], s.Path(name)), err
}

// mayChange returns why the tenant with that name cannot be made, moved or removed.
func (s *Set) mayChange(ctx context.Context, tx kv.ReadTransaction, name string) error {
	if err := s.checkName(name); err != nil {
		return err
	}
	is, err := s.isWork(ctx, tx, name)
	if is {
		err = &NameError{Path: s.Path(name), Reason: "is a directory that the database itself needs"}
	}
	return err
}

// newID returns a random name.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
