// SPDX-License-Identifier: Apache-2.0

// Package fault is the engine's failures: the first error of the disk, which ends all commits,
// and damage to files.
package fault

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
)

// Fault is the first error of the disk under a database. After it nothing more
// is committed: what the disk holds beyond that moment is not known. Opening
// the database again finds out.
type Fault struct {
	once  sync.Once
	ended chan struct{} // closed once err is set
	err   error
}

func New() *Fault { return &Fault{ended: make(chan struct{})} }

// Raise records the error and returns the one that callers are to see: the
// first. It never waits, so that it may be called from anywhere.
func (f *Fault) Raise(doing string, cause error) error {
	f.once.Do(func() {
		f.err = &DiskError{Doing: doing, Err: cause}
		close(f.ended)
	})
	return f.err
}

// Raised returns a channel that is closed once there is an error.
func (f *Fault) Raised() <-chan struct{} { return f.ended }

// Get returns the fault, or nil. A nil fault never happens.
func (f *Fault) Get() error {
	if f == nil {
		return nil
	}
	select {
	case <-f.ended:
		return f.err
	default:
		return nil
	}
}

// DiskError is what every commit fails with after the disk has failed once:
// the code is [kv.CodeIOError], and errors.Is finds the cause. Reads go on.
// Close the database, mend the disk and open it again: whatever was
// acknowledged is there.
type DiskError struct {
	Doing string // what the engine was doing, with the file's name
	Err   error  // what the operating system said
}

// Error implements error.
func (e *DiskError) Error() string {
	return fmt.Sprintf("embedded: %s: %v; nothing more is committed: close the database, see to the disk, and open it again", e.Doing, e.Err)
}

// Unwrap returns the error with FoundationDB's code, and the cause.
func (e *DiskError) Unwrap() []error {
	return []error{kv.NewError(kv.CodeIOError, "%s", e.Doing), e.Err}
}

// CorruptError says that a file of the database is damaged: bytes that were on
// the disk for certain are not what was written, or a file is gone. Nothing is
// changed by an opening that fails with it.
type CorruptError struct {
	File   string // path of the file
	Offset int64  // where in it
	Reason string
	Err    error // what reading it has met; nil: nothing beyond the reason
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("embedded: %s is damaged at offset %d: %s; keep the folder as it is, look for the disk's fault, "+
		"and restore a backup into another folder (Verify lists all damage)", e.File, e.Offset, e.Reason)
}

// FormatError says that a newer version of this library wrote a database. Nothing
// is damaged and nothing was changed.
type FormatError struct {
	Dir    string // of the database, or of its base
	Format int    // of what is in it
	Newest int    // that this version reads
	Needs  error  // a feature that the database needs and this version does not know; nil: none
}

// Unwrap returns that a newer version wrote the database, as persistable.ErrNewer says it.
func (e *FormatError) Unwrap() error { return cmp.Or(e.Needs, newer.Err) }

// Error implements error.
func (e *FormatError) Error() string {
	if e.Needs != nil {
		return fmt.Sprintf("embedded: the database in %s: %v", e.Dir, e.Needs)
	}
	return fmt.Sprintf("embedded: a newer version of Kazahana wrote %s: its format is %d, and this version reads formats up to %d; "+
		"open it with the newer version", e.Dir, e.Format, e.Newest)
}
