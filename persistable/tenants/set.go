// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
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

// pageSize is how many names List and Count read in a transaction.
const pageSize = 1000

// Page returns the names of the first limit tenants after the name after, in the order of their
// bytes. The first page is the one after "". A page of fewer names is the last one. It
// is empty if the directory of the tenants does not exist. A limit below 1 is an error; all names
// are those of List. Names that cannot be read hide no
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

// ApproximateSize returns how many bytes the keys and values of a tenant have. Each of its directories,
// or of its partitions, is counted if the engine estimates it at less than 64 kB and it has at most
// 1,000 keys. The engine estimates larger ones by a sample: one above 3 MB is about 10 % off.
//
// Cost: two rounds for each level of the directories of the tenant, and one or two for each
// directory.
func (s *Set) ApproximateSize(ctx context.Context, name string) (int64, error) {
	if err := s.checkName(name); err != nil {
		return 0, err
	}
	return kv.ReadTransact(ctx, s.db.Engine(), func(tx kv.ReadTransaction) (int64, error) {
		t, err := s.readTree(ctx, tx.Snapshot(), name)
		if err != nil {
			return 0, err
		}
		return t.size(ctx, tx)
	})
}

// readTree reads the directories of a tenant.
func (s *Set) readTree(ctx context.Context, tx kv.ReadTransaction, name string) (tree, error) {
	t, err := readTree(ctx, tx, s.layer, s.Path(name))
	return t, missingError(err)
}

// maxName is the longest name, in bytes: that of a store's argument.
const maxName = 4096

// checkName returns an [ErrName] for a name that no tenant can have.
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
	return s.nameError(name, reason)
}

// maintenance returns the set for work that may take long: see [persistable.DB.Maintenance].
func (s *Set) maintenance() *Set { return &Set{s.db.Maintenance(), s.layer, s.parent} }

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
		err = s.nameError(name, "is a directory that the database itself needs")
	}
	return err
}

// newID returns a random name.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// The states that a verb can report. They come wrapped with the path: compare with
// errors.Is.
var (
	// ErrNotFound: there is no tenant of that name. It is persistable.ErrNotFound.
	ErrNotFound = persistable.ErrNotFound
	// ErrExists: there is a tenant of that name already.
	ErrExists = errors.New("tenants: there is a tenant of this name already")
	// ErrLockLost: the lock is not, or no longer, that of the tenant, or a program that does
	// not look at locks has changed its directories: what was read under it may be a mixture.
	// Lock the tenant and begin again.
	ErrLockLost = errors.New("tenants: the tenant was unlocked, or changed in spite of its lock: lock it and begin again")
	// ErrTooLong: what was to be read at one version takes longer than five seconds.
	// Lock the tenant, and pass the lock.
	ErrTooLong = errors.New("tenants: one version can be read for five seconds only: lock the tenant and pass the lock")
	// ErrDifferent: a tenant is not what a stream says. The text names the first difference.
	ErrDifferent = errors.New("tenants: the tenant is not the one of the stream")
	// ErrUnreadable: the name, the lock, the quota or the usage of a tenant is damaged, or is of a
	// newer program. Lists go on with the others.
	ErrUnreadable = tenancy.ErrUnreadable
	// ErrUnfinished: a copy or an import to that name was not finished, and is not the
	// one of this call. Repeat that one, or abandon it by Set.Abandon.
	ErrUnfinished = errors.New("tenants: another copy or import to this name is unfinished: repeat it, or abandon it")
	// ErrName: no tenant can have the name. The text says why.
	ErrName = errors.New("tenants: no tenant can have this name")
	// ErrRename: a tenant cannot get another name, because an index has the name as a field:
	// its entries would stay those of the old name. Drop the index, which is the same for all
	// records of a tenant, or keep the name. The name may be one further up in the path, where a
	// stream is imported under another path. The text names the index and the {Field}.
	ErrRename = errors.New("tenants: an index has the name of the tenant")
	// ErrStream: a stream is not what Export writes, or, if it is a [persistable.ErrNewer] as
	// well, that of a newer version. The text has the number of the block, from 0, and its
	// offset, in bytes from the start of the stream. Nothing of the block was imported.
	ErrStream = errors.New("tenants: the stream is damaged")
	// ErrAhead: a stream cannot be imported into this database, because it has versions that
	// are ahead of it: what changes after the import would come before them in the order of
	// changes.
	ErrAhead = errors.New("tenants: the stream has versions that are ahead of this database")
)

// nameError is the [ErrName] of a tenant.
func (s *Set) nameError(name, reason string) error {
	return sentinel.Mark(ErrName, fmt.Errorf("tenants: the name of %s %s", pathText(s.Path(name)), reason))
}

func pathText(path []string) string {
	all := make([]string, len(path))
	for i, name := range path {
		if len(name) > 64 {
			name = name[:64] + "…"
		}
		all[i] = strconv.QuoteToASCII(name)
	}
	return strings.Join(all, "/")
}
