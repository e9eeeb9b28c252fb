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
// rest ([ErrUnfinished]).
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
		id = "copy of " + pathText(src.manifest.path) + " under " + o.Lock.ID
	}
	dst, err := s.openStage(ctx, to, id, src.manifest)
	if err != nil {
		return p, err
	}
	src.position = dst.position
	if err = src.copyTo(ctx, dst, o.Progress); err != nil && o.Lock.ID == "" {
		err = errors.Join(err, s.abandon(context.WithoutCancel(ctx), to, dst.isOwn)) // no call can continue it
	}
	return dst.progress(), err
}
