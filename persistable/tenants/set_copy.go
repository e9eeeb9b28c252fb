// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
)

// CopyOptions modify [Set.Copy]. The zero value copies at one version.
type CopyOptions struct {
	// Lock is the lock of the tenant that is copied. Without it, the tenant is read at
	// one version, in at most five seconds.
	Lock Lock
	// Progress, if set, is called after each block of about 400 kB.
	Progress func(Progress)
}

// Progress is how far a copy, export or import has come.
type Progress struct {
	Blocks int64 // written so far
	Pairs  int64 // keys with their values
	Bytes  int64 // of keys and values
	Offset int64 // in the stream, in bytes; 0 for a copy
}

// Copy makes a tenant with the contents of another one, byte for byte but for the
// prefixes of its directories: records, entries, index states, aggregates, and keys of
// the program's own. Quota and lock are not copied. The {Field} of the records has
// the new name.
//
// The copy is of one state (see the package), and appears when it is complete. If it is
// interrupted, repeat the call: with the same lock it goes on where it stopped;
// without a lock it begins again, after a crash only once [Set.Abandon] has removed the
// rest ([ErrUnfinished]). After an error, even that of ctx, a copy without a lock removes
// the rest itself, for which it takes ten seconds at most; the error says if that failed.
//
// If the directories of the tenant have changed since a copy under the lock began, by a
// program that does not look at locks, it is [ErrLockLost].
//
// Memory: one block. Errors: [ErrNotFound], [ErrExists], [ErrTooLong], [ErrLockLost],
// [ErrUnfinished], *[NameError], *[RenameError].
func (s *Set) Copy(ctx context.Context, from, to string, o CopyOptions) (p Progress, err error) {
	if p, err = s.copy(ctx, from, to, o); err != nil {
		return p, fmt.Errorf("copy tenant %s to %q: %w", pathText(s.Path(from)), to, err)
	}
	return p, nil
}

func (s *Set) copy(ctx context.Context, from, to string, o CopyOptions) (p Progress, err error) {
	src, err := s.openSource(ctx, from, o.Lock)
	if err != nil {
		return p, err
	}
	id := src.manifest.id
	if o.Lock.ID != "" {
		id = "copy of " + pathText(src.manifest.path) + " under " + o.Lock.ID + directoriesMark + src.manifest.fingerprint()
	}
	dst, err := s.openStage(ctx, to, id, src.manifest)
	if err == nil {
		src.position = dst.position
		err = src.copyTo(ctx, dst, o.Progress)
	}
	if err != nil && o.Lock.ID == "" && len(dst.dirs) > 0 {
		err = errors.Join(err, s.discard(ctx, dst))
	}
	return dst.progress(), err
}

// discard removes a copy that no call can continue, even if ctx has ended.
func (s *Set) discard(ctx context.Context, dst *stage) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	return s.abandon(ctx, dst.name, dst.isOwn)
}
