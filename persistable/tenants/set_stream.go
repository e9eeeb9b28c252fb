// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/tuple"
)

// ExportOptions modify [Set.Export]. The zero value exports at one version.
type ExportOptions struct {
	// Lock is the lock of the tenant. Without it, the tenant is read at one version, in
	// at most five seconds, writing included.
	Lock Lock
	// Resume is what [Inspect] says of a stream that was not finished: Export writes what
	// comes after its Offset. The tenant must still have the same lock.
	Resume *Stream
	// Progress, if set, is called after each block of about 400 kB.
	Progress func(Progress)
}

// Export writes a tenant as a stream, which [Set.Import] reads into any database,
// embedded or cluster, under any name. The stream has all keys and values, relative to
// the tenant's directories, with the schema of each type and a checksum for each
// block; docs/tenants.md shows the format.
//
// The stream is of one state (see the package). If Export is interrupted and the tenant
// was locked, it can be continued:
//
//	was, err := tenants.Inspect(file)            // reads and checks what is there
//	err = file.Truncate(was.Offset)
//	_, err = file.Seek(was.Offset, io.SeekStart)
//	_, err = all.Export(ctx, name, file, tenants.ExportOptions{Lock: lock, Resume: was})
//
// Memory: one block. Each block is one call of w.Write. Errors: [ErrNotFound],
// [ErrTooLong], [ErrLockLost], [ErrName], and those of w.
func (s *Set) Export(ctx context.Context, name string, w io.Writer, o ExportOptions) (p Progress, err error) {
	s = s.maintenance()
	e := exporter{writer: streamWriter{w: w}, progress: o.Progress}
	if err = e.open(ctx, s, name, o); err == nil {
		err = e.run(ctx)
	}
	if err != nil {
		return e.sum, fmt.Errorf("export tenant %s: %w", pathText(s.Path(name)), err)
	}
	return e.sum, nil
}

// exporter writes one stream.
type exporter struct {
	source   *source
	writer   streamWriter
	progress func(Progress)
	sum      Progress
}

// open starts the stream, or takes up the one of the options.
func (e *exporter) open(ctx context.Context, s *Set, name string, o ExportOptions) (err error) {
	if e.source, err = s.openSource(ctx, name, o.Lock); err != nil {
		return err
	}
	was := o.Resume
	if was == nil {
		err = e.writer.start(e.source.manifest)
		e.sum.Offset = e.writer.offset
		return err
	}
	if was.Complete {
		return errors.New("the stream is complete already")
	}
	e.writer.number, e.writer.offset, e.writer.sum = was.number, was.Offset, was.sum
	e.sum = was.Progress
	return e.source.resume(was.manifest, was.position)
}

func (e *exporter) run(ctx context.Context) error {
	for {
		b, err := e.source.next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			return e.finish()
		}
		if _, err := e.writer.write(kindPairs, b.encode()); err != nil {
			return err
		}
		e.sum = Progress{Blocks: e.sum.Blocks + 1, Pairs: e.sum.Pairs + int64(len(b.pairs)), Bytes: e.sum.Bytes + b.size(), Offset: e.writer.offset}
		if e.progress != nil {
			e.progress(e.sum)
		}
	}
}

// finish writes the last block: how much there was.
func (e *exporter) finish() error {
	payload, err := endPayload(e.sum)
	if err == nil {
		_, err = e.writer.write(kindEnd, payload)
		e.sum.Offset = e.writer.offset
	}
	return err
}

// endPayload returns the payload of the last block: the packed tuple (blocks, pairs,
// bytes).
func endPayload(p Progress) ([]byte, error) {
	return tuple.Tuple{p.Blocks, p.Pairs, p.Bytes}.Pack()
}

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
// damaged or cut off is an [ErrStream] with the number and the offset of the block.
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
// Memory: one block. Errors: [ErrExists], [ErrUnfinished], [ErrStream], [ErrAhead],
// [ErrName], [ErrRename].
func (s *Set) Import(ctx context.Context, name string, r io.Reader, o ImportOptions) (p Progress, err error) {
	s = s.maintenance()
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

// checkArrived reads a stream of a tenant that exists. It returns exists unless the tenant has the
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
			return i.stage.finish(ctx, i.stage.checkComplete)
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

// VerifyOptions modify [Set.Verify]. The zero value reads the tenant at one version.
type VerifyOptions struct {
	// Lock is the lock of the tenant. Without it, the tenant is read at one version, in at most
	// five seconds, reading the stream included.
	Lock Lock
	// Progress, if set, is called after each block of the stream.
	Progress func(Progress)
}

// Verify compares a tenant with a complete stream: its directories, its stores, and each key with
// its value. The tenant may have another name than in the stream, and lie in another database. If
// they differ, the error is [ErrDifferent].
//
// Memory: one block of each. Errors: ErrDifferent, [ErrNotFound], [ErrTooLong], [ErrLockLost],
// [ErrStream], [ErrName].
func (s *Set) Verify(ctx context.Context, name string, r io.Reader, o VerifyOptions) (p Progress, err error) {
	s = s.maintenance()
	in := streamReader{r: r}
	m, err := in.start()
	if err == nil {
		stream := newStream(m, &in)
		err = s.compare(ctx, name, o, func() (*block, error) {
			b, err := stream.next(&in)
			if p = stream.Progress; o.Progress != nil {
				o.Progress(p)
			}
			return b, err
		}, m)
	}
	if err != nil {
		return p, fmt.Errorf("verify tenant %s: %w", pathText(s.Path(name)), err)
	}
	return p, nil
}

// compare compares a tenant with the blocks of a stream, of which the last one is nil.
func (s *Set) compare(ctx context.Context, name string, o VerifyOptions, nextBlock func() (*block, error), m *manifest) error {
	src, err := s.openSource(ctx, name, o.Lock)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(m.dirs, src.dirs, sameBranch) || !slices.EqualFunc(m.stores, src.stores, sameHeader) {
		return fmt.Errorf("%w: it has other directories or stores", ErrDifferent)
	}
	want, got := pairReader{next: nextBlock}, pairReader{next: func() (*block, error) { return src.next(ctx) }}
	for {
		if err := errors.Join(want.advance(), got.advance()); err != nil {
			return err
		}
		if want.block == nil && got.block == nil {
			return nil
		}
		if difference := got.differs(&want); difference != "" {
			return fmt.Errorf("%w: %s", ErrDifferent, difference)
		}
	}
}
