// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// ImportOptions modify [Set.Import].
type ImportOptions struct {
	// LockReason, if not empty, is the reason of a lock with which the tenant arrives: programs
	// cannot write to it until [Set.Unlock]. A further call with the same stream finds the
	// tenant as it arrived and does nothing; without a lock that is [ErrExists].
	LockReason string
	// Progress, if set, is called after each block that was written.
	Progress func(Progress)
}

// Import makes a tenant of a stream that [Set.Export] has written. The name may be
// another one than in the stream: the {Field} of the records has the new name.
//
// The tenant appears when the whole stream was read and checked. A stream that is
// damaged or cut off is a *[StreamError] with the number and the offset of the block.
// The keys of a stream are relative to the tenant's directories, so no stream writes
// anything else. Import cannot check more than that of the contents: take streams only
// from programs that may write the tenant's records.
//
// If Import is interrupted, repeat the call with the same stream, from its begin: blocks
// that are there already are skipped, without reading them if r is an [io.Seeker].
// [Set.Abandon] removes them.
//
// [Set.Verify] compares the tenant with the stream afterwards. docs/tenants.md shows how a tenant
// is moved to another database.
//
// Memory: one block. Errors: [ErrExists], [ErrUnfinished], *StreamError, *[VersionError],
// *[NameError], *[RenameError].
func (s *Set) Import(ctx context.Context, name string, r io.Reader, o ImportOptions) (p Progress, err error) {
	i := importer{in: streamReader{r: r}, reason: o.LockReason, progress: o.Progress}
	if err = s.checkName(name); err == nil {
		err = i.open(ctx, s, name)
	}
	if err == nil {
		err = i.run(ctx)
	}
	if i.stage != nil {
		p = i.stage.progress()
	}
	if errors.Is(err, ErrExists) && o.LockReason != "" {
		p, err = i.checkArrived(ctx, s, name, err)
	}
	if err != nil {
		return p, fmt.Errorf("import tenant %s: %w", pathText(s.Path(name)), err)
	}
	return p, nil
}

// importer reads one stream into a stage.
type importer struct {
	in       streamReader
	stream   *Stream
	stage    *stage
	reason   string // of the lock with which the tenant arrives; empty: none
	progress func(Progress)
}

func (i *importer) open(ctx context.Context, s *Set, name string) error {
	begin := int64(-1)
	seeker, ok := i.in.r.(io.Seeker)
	if ok {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			begin = at
		}
	}
	m, err := i.in.start()
	if err != nil {
		return err
	}
	i.stream = newStream(m, &i.in)
	if i.stage, err = s.openStage(ctx, name, "stream "+m.id, m); err != nil {
		return err
	}
	if i.reason != "" {
		i.stage.lock = tenancy.Lock{ID: m.id, Reason: i.reason}
	}
	if begin >= 0 && i.stage.block > 0 {
		return i.leap(seeker, begin)
	}
	return nil
}

// leap skips the blocks that are there already.
func (i *importer) leap(seeker io.Seeker, begin int64) error {
	there := i.stage.arrival
	if _, err := seeker.Seek(begin+there.offset, io.SeekStart); err != nil {
		return fmt.Errorf("tenants: leap to offset %d of the stream: %w", there.offset, err)
	}
	i.in.offset, i.in.number = there.offset, there.block+1
	i.stream.number, i.stream.position = i.in.number, there.position
	i.stream.Progress = i.stage.progress()
	return nil
}

// checkArrived reads a stream whose tenant exists. It returns exists unless the tenant has the
// lock with which it arrived: then it is as it was.
func (i *importer) checkArrived(ctx context.Context, s *Set, name string, exists error) (Progress, error) {
	l, _, err := s.LockOf(ctx, name)
	if err != nil || l.ID != i.stream.id {
		return Progress{}, exists
	}
	for !i.stream.Complete {
		if _, err := i.stream.next(&i.in); err != nil {
			return i.stream.Progress, err
		}
	}
	return i.stream.Progress, nil
}

func (i *importer) run(ctx context.Context) error {
	for {
		b, err := i.stream.next(&i.in)
		if err != nil {
			return err
		}
		if i.stream.Complete {
			return i.stage.finish(ctx)
		}
		if i.stream.Blocks <= i.stage.block {
			continue // it is there already
		}
		if err := i.stage.add(ctx, b, i.stream.Offset); err != nil {
			return err
		}
		if i.progress != nil {
			i.progress(i.stage.progress())
		}
	}
}
