// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// fault is the first error of the disk under a database. After it nothing more
// is committed: what the disk holds beyond that moment is not known. Opening
// the database again finds out.
type fault struct {
	once   sync.Once
	raised chan struct{} // closed once err is set
	err    error
}

func newFault() *fault { return &fault{raised: make(chan struct{})} }

// raise records the error and returns the one that callers are to see: the
// first. It never waits, so that it may be called from anywhere.
func (f *fault) raise(doing string, cause error) error {
	f.once.Do(func() {
		f.err = &DiskError{Doing: doing, Err: cause}
		close(f.raised)
	})
	return f.err
}

// get returns the fault, or nil. A nil fault never happens.
func (f *fault) get() error {
	if f == nil {
		return nil
	}
	select {
	case <-f.raised:
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

// unknownOutcome is the error of a commit that was being made durable when the
// disk failed.
func unknownOutcome(err error) error {
	return fmt.Errorf("embedded: the commit may or may not be found when the database is opened again: %w: %w", kv.ErrOutcomeUnknown, err)
}
