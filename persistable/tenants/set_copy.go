// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// CopyOptions modify [Set.Copy]. The zero value copies at one version.
type CopyOptions struct {
	// Lock is the lock of the tenant that is copied. Without it, the tenant is read at
	// one version, in at most five seconds.
	Lock Lock
	// Workers is how many goroutines of this process copy, each in transactions of its own over keys
	// of its own. The default value is 1. More need a Lock. Other processes may copy with the same
	// lock to the same name at the same time, with workers of their own.
	Workers int
	// Lease is how long the keys that a worker copies may stay without any change before another
	// process takes them over: after that time it replaces a process that was killed. The default
	// value is ten seconds.
	Lease time.Duration
	// Progress, if set, is called after each transaction, one call at a time, with how far all
	// processes have come. The worker waits for it.
	Progress func(Progress)
}

// Validate reports all faults of the options, joined.
func (o CopyOptions) Validate() error {
	var faults []error
	if o.Workers < 0 || o.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("tenants: CopyOptions.Workers is %d, must be from 0 to %d", o.Workers, maxWorkers))
	}
	if o.Workers > 1 && o.Lock.ID == "" {
		faults = append(faults, fmt.Errorf("tenants: CopyOptions.Workers is %d, and without a Lock one worker copies one version: lock the tenant and pass the lock", o.Workers))
	}
	if o.Lease < 0 {
		faults = append(faults, fmt.Errorf("tenants: CopyOptions.Lease is %v, must not be negative", o.Lease))
	}
	return errors.Join(faults...)
}

const maxWorkers = 1000

// Progress is how far a copy, export or import has come.
type Progress struct {
	Blocks int64 // written so far; of a copy under a lock, transactions
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
// Any number of processes may make one copy together: each calls Copy with the same lock and names,
// and returns when the copy is complete. A call that comes after that is an [ErrExists].
//
// If the directories of the tenant have changed since a copy under the lock began, by a
// program that does not look at locks, it is [ErrLockLost].
//
// The result is what this call has seen of the copy, with the work of all processes.
//
// Memory: one block for each worker. Errors: [ErrNotFound], [ErrExists], [ErrTooLong], [ErrLockLost],
// [ErrUnfinished], [ErrName], [ErrRename], and those of [CopyOptions.Validate].
func (s *Set) Copy(ctx context.Context, from, to string, o CopyOptions) (p Progress, err error) {
	if p, err = s.copy(ctx, from, to, o); err != nil {
		return p, fmt.Errorf("copy tenant %s to %q: %w", pathText(s.Path(from)), to, err)
	}
	return p, nil
}

func (s *Set) copy(ctx context.Context, from, to string, o CopyOptions) (p Progress, err error) {
	if err := o.Validate(); err != nil {
		return p, err
	}
	s = s.maintenance()
	src, err := s.openSource(ctx, from, o.Lock)
	if err != nil {
		return p, err
	}
	if o.Lock.ID == "" {
		return s.copyVersion(ctx, src, to, o)
	}
	id := "shared copy of " + pathText(src.manifest.path) + " under " + o.Lock.ID + directoriesMark + src.manifest.fingerprint()
	dst, err := s.openStage(ctx, to, id, src.manifest)
	if err != nil {
		return p, err
	}
	job := copyJob{src: src, dst: dst, options: o}
	err = job.run(ctx)
	return job.sum, err
}

// copyVersion copies at one version, block by block.
func (s *Set) copyVersion(ctx context.Context, src *source, to string, o CopyOptions) (Progress, error) {
	dst, err := s.openStage(ctx, to, src.manifest.id, src.manifest)
	if err == nil {
		err = src.copyTo(ctx, dst, o.Progress)
	}
	if err != nil && len(dst.dirs) > 0 {
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

// openStage makes the directories of a tenant that arrives, or finds those of an
// interrupted call. After an error, the result has those that it may have made.
func (s *Set) openStage(ctx context.Context, name, id string, m *manifest) (*stage, error) {
	g := &stage{Set: s, name: name, manifest: m, id: id}
	var err error
	if g.versions, err = m.versionIndex(); err != nil {
		return g, err
	}
	if err := m.checkArrival(s.Path(name)); err != nil {
		return g, err
	}
	if err := s.transact(ctx, func(tx kv.Transaction) error { return g.openRoot(ctx, tx) }); err != nil {
		return g, err
	}
	for batch := range slices.Chunk(m.dirs[1:], sweepDirectories) {
		if err := g.openBatch(ctx, batch); err != nil {
			return g, err
		}
	}
	return g, nil
}

// openSource reads what a tenant consists of.
func (s *Set) openSource(ctx context.Context, name string, l Lock) (*source, error) {
	if err := s.checkName(name); err != nil {
		return nil, err
	}
	if l.ID != "" && l.Tenant != name {
		return nil, fmt.Errorf("tenants: the lock is that of the tenant %q", l.Tenant)
	}
	src := &source{Set: s, name: name, lock: l}
	err := src.read(ctx, func(tx kv.ReadTransaction) (err error) {
		src.manifest, err = src.readManifest(ctx, tx)
		return err
	})
	return src, err
}
