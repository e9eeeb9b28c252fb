// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

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
)

// NameError says that no tenant can have a name.
type NameError struct {
	Path   []string // of the tenant
	Reason string
}

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("tenants: the name of %s %s", pathText(e.Path), e.Reason)
}

// RenameError says that a tenant cannot get another name, because an index has the name
// as a field: its entries would stay those of the old name. Drop the index, which is
// the same for all records of a tenant, or keep the name. The name may be one further up in
// the path, where a stream is imported under another path.
type RenameError struct {
	Type  string
	Index string // as in keys
	Field string // the {Field}
}

// Error implements error.
func (e *RenameError) Error() string {
	return fmt.Sprintf("tenants: %s: the index %s has the field %s, which is a name in the tenant's path, and would keep the old one: drop the index, or keep the name",
		e.Type, e.Index, e.Field)
}

// StreamError says that a stream is not what Export writes, or, if it is a
// [persistable.ErrNewer], that of a newer version. Nothing of the block was imported.
type StreamError struct {
	Block  int64 // number of the block, from 0
	Offset int64 // of the block, in bytes from the begin of the stream
	Reason string
	Err    error // the cause, if any
}

// Error implements error.
func (e *StreamError) Error() string {
	if errors.Is(e.Err, persistable.ErrNewer) {
		return fmt.Sprintf("tenants: the stream cannot be used: %v", e.Err)
	}
	text := fmt.Sprintf("tenants: the stream is damaged at block %d, offset %d: %s", e.Block, e.Offset, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StreamError) Unwrap() error { return e.Err }

// VersionError says that a stream cannot be imported into this database, because it
// has versions that are ahead of it: what changes after the import would come before
// them in the order of changes.
type VersionError struct {
	Index           string // the version index, as in keys
	Stream, Version int64  // of the stream's block, and of the database
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("tenants: the index %s has changes up to the version %d, and this database is only at %d: import it into a database that has reached that version, or export again after Indexes().RemoveUnused by a program whose type has no persistable.Version",
		e.Index, e.Stream, e.Version)
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
