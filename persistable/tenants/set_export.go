// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// ExportOptions modify [Set.Export]. The zero value exports at one version.
type ExportOptions struct {
	// Lock is the lock of the tenant. Without it, the tenant is read at one version, in
	// at most five seconds, writing included.
	Lock Lock
	// Resume is what [Inspect] says of a stream that was not finished: Export writes what
	// comes behind its Offset. The tenant must still have the same lock.
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
// [ErrTooLong], [ErrLockLost], *[NameError], and those of w.
func (s *Set) Export(ctx context.Context, name string, w io.Writer, o ExportOptions) (p Progress, err error) {
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
