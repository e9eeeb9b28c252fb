// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

var (
	// ErrNameTaken is what a [NameError] is.
	ErrNameTaken = errors.New("membership: another member has the name")
	// ErrLeft is the cause of the end of [Member.Context] after [Member.Leave].
	ErrLeft = errors.New("membership: the member has left")
	// ErrVersionFell says that the topology's version is smaller than it was: the
	// directory was removed, or the database restored from a backup. Placement by
	// versions is void; restart the programs.
	ErrVersionFell = errors.New("membership: the topology's version is smaller than it was: the directory of the members was removed, or the database restored from a backup; restart the programs of the cluster")
)

// NameError says that a member of the name is alive. It is an [ErrNameTaken], and
// wraps a *[leasefdb.HeldError].
type NameError struct {
	Owner placement.Owner // the member that is alive
	Err   error
}

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v: %v is alive; give each process a name of its own: %v", ErrNameTaken, e.Owner, e.Err)
}

// Is reports whether target is [ErrNameTaken].
func (e *NameError) Is(target error) bool { return target == ErrNameTaken }

// Unwrap returns the cause.
func (e *NameError) Unwrap() error { return e.Err }

// CorruptError says that what is stored cannot be used: it is damaged, or, if the error is a
// persistable.ErrNewer, a newer version wrote it.
type CorruptError struct {
	Key []byte // in the database
	Err error
}

// Error implements error.
func (e *CorruptError) Error() string {
	if errors.Is(e.Err, newer.Err) {
		return fmt.Sprintf("membership: the value of key %s cannot be used: %v", tuple.Describe(e.Key), e.Err)
	}
	return fmt.Sprintf("membership: the value of key %s is damaged: restore it from a backup: %v", tuple.Describe(e.Key), e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// mayPass reports whether an error of the database may pass: it comes from the engine,
// or tells nothing but that an outcome is unknown.
func mayPass(err error) bool {
	retry := new(kv.RetryError)
	return kv.CodeOf(err) != 0 || errors.As(err, &retry) || errors.Is(err, kv.ErrOutcomeUnknown)
}

// cannotWatch reports whether the engine refuses a watch.
func cannotWatch(err error) bool {
	code := kv.CodeOf(err)
	return code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled
}

// nameTaken is the error of a second member of a name.
func nameTaken(held *leasefdb.HeldError) error {
	return &NameError{Owner: placement.Owner{Name: held.State.Name, Incarnation: held.State.Epoch}, Err: held}
}
