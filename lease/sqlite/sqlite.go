// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// Options configure a [Store]. The zero value is right for most.
type Options struct {
	// BusyTimeout is how long a transaction waits for those of other processes;
	// 0 means 10 s. After that it fails with [ErrBusy].
	BusyTimeout time.Duration
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

var (
	// ErrBusy says that other processes kept the file locked for longer than
	// [Options.BusyTimeout]. Nothing was changed.
	ErrBusy = errors.New("sqlite: the leases are locked by another process")

	// ErrNotLeases says that the file is a database of something else, or, if the error is a
	// [lease.ErrNewer], of a newer version of this package.
	ErrNotLeases = errors.New("sqlite: the file holds no leases that this version knows")

	// ErrReplaced says that the file was removed or replaced while this process
	// had it open. Other processes do not see leases that are granted from the old
	// one. Open the new one.
	ErrReplaced = errors.New("sqlite: the file is no longer the one that was opened")
)

// applicationID marks the files of this package ("kzhn"), version their format.
const (
	applicationID = 0x6b7a686e
	version       = 1
)

var _ lease.Store = (*Store)(nil)
