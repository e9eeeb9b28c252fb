// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// The states that a verb can report. They come wrapped with the path: compare
// with errors.Is. None of them is retryable; errors of the engine pass through
// with their code, so that retry loops see them.
var (
	// ErrNotFound: there is no directory at the path.
	ErrNotFound = errors.New("directory: not found")
	// ErrParentNotFound: the parent of a move's destination does not exist;
	// create it first. It comes together with ErrNotFound.
	ErrParentNotFound = errors.New("directory: the parent of the destination does not exist")
	// ErrExists: there is a directory at the path already.
	ErrExists = errors.New("directory: exists already")
	// ErrRoot: the root of the layer, or of a partition, was named where a
	// directory is needed: it cannot be opened, created, moved or removed.
	ErrRoot = errors.New("directory: not possible with the root")
	// ErrMoveIntoSelf: a directory cannot be moved to itself or below itself.
	ErrMoveIntoSelf = errors.New("directory: cannot move a directory into itself")
	// ErrBetweenPartitions: a directory cannot leave its partition, because the
	// keys of a partition share its prefix.
	ErrBetweenPartitions = errors.New("directory: cannot move between partitions")
	// ErrManualPrefix: prefixes cannot be chosen in this layer (see
	// [Options].AllowManualPrefixes), and never inside a partition.
	ErrManualPrefix = errors.New("directory: manual prefixes are not allowed here")
	// ErrPartition: a partition has no subspace of its own. Its keys belong to
	// the directories inside it; a key packed directly would be overwritten.
	ErrPartition = errors.New("directory: a partition's prefix must not be used directly")
	// ErrVersion: the stored directories were written by a newer format.
	ErrVersion = errors.New("directory: incompatible version of the directory layer")
	// ErrPath marks every [*PathError].
	ErrPath = errors.New("directory: illegal path")
	// ErrCorrupt marks every [*CorruptError].
	ErrCorrupt = errors.New("directory: corrupt metadata")
)

// LayerError says that a directory exists but belongs to another layer than
// the caller expects (see [As] and [ElementAs]).
type LayerError struct {
	Path      []string // the directory in question: the path asked for, or a part of it
	Want, Got string
}

// Error implements error.
func (e *LayerError) Error() string {
	return fmt.Sprintf("directory: %s has the layer %q, expected was %q", pathString(e.Path), e.Got, e.Want)
}

// PrefixInUseError says that a directory cannot have a prefix: keys, or a
// directory with a prefix that begins with it or with which it begins, are
// there already.
type PrefixInUseError struct {
	Prefix []byte
	// Allocated tells a prefix that the allocator chose from one that the
	// caller chose. The former means that something other than this layer
	// writes below its content prefix, or that manual prefixes are in its way.
	Allocated bool
	Reason    string
}

// Error implements error.
func (e *PrefixInUseError) Error() string {
	who := "the given prefix"
	if e.Allocated {
		who = "the allocated prefix"
	}
	return fmt.Sprintf("directory: %s %x cannot be used: %s", who, e.Prefix, e.Reason)
}

// PathError says which element of a path is illegal. It is ErrPath.
type PathError struct {
	Path    []string
	Element int // index into Path
	Reason  string
}

// Error implements error.
func (e *PathError) Error() string {
	return fmt.Sprintf("%v: element %d of %s %s", ErrPath, e.Element, pathString(e.Path), e.Reason)
}

// Is makes errors.Is(err, ErrPath) true.
func (e *PathError) Is(target error) bool { return target == ErrPath }

// CorruptError says that stored metadata is not what the directory layer
// writes. It is ErrCorrupt. Nothing was changed.
type CorruptError struct {
	Key    []byte
	Value  []byte
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: key %x with value %x: %s", ErrCorrupt, abridged(e.Key), abridged(e.Value), e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// abridged keeps an error text short whatever was found.
func abridged(b []byte) []byte { return b[:min(len(b), 256)] }

func versionError(v version, what string) error {
	return fmt.Errorf("%w: the database has %s, this is %s: %s", ErrVersion, v, ownVersion, what)
}

func prefixError(prefix []byte, allocated bool, reason string) error {
	return &PrefixInUseError{Prefix: prefix, Allocated: allocated, Reason: reason}
}

func tooLong(what string, n int) string {
	return fmt.Sprintf("makes a key of %d bytes with its %s; at most %d are possible", n, what, kv.MaxKeySize)
}
