// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
)

// Stream is what a stream holds, as far as it was read.
type Stream struct {
	Path     []string // of the tenant when it was exported
	Types    []string // the types of its records
	Version  int64    // of the database at which the export began
	LockID   string   // of the lock under which it was exported; empty: of none
	Complete bool     // the stream has its end
	Progress          // Offset is the end of the last whole block

	*manifest
	position
	number int64
	sum    checksum
}

// Inspect reads a stream and checks each block, without a database. If the stream ends
// before its end, because the export was interrupted, Complete is false, and Offset
// says up to where it is good. Damage is a *[StreamError] with the number and the offset
// of the block; then the result tells of the blocks before it.
func Inspect(r io.Reader) (*Stream, error) {
	in := streamReader{r: r}
	m, err := in.start()
	if err != nil {
		return nil, err
	}
	s := newStream(m, &in)
	for !s.Complete {
		_, err := s.next(&in)
		if errors.Is(err, errTruncated) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func newStream(m *manifest, in *streamReader) *Stream {
	s := &Stream{Path: m.path, Version: m.version, LockID: m.lock, manifest: m, number: in.number, sum: in.sum}
	s.Offset = in.offset
	for _, h := range m.stores {
		s.Types = append(s.Types, h.typ)
	}
	return s
}

// next reads and checks a block of pairs; nil for the end.
func (s *Stream) next(in *streamReader) (*block, error) {
	number, offset := in.number, in.offset
	kind, payload, _, err := in.next()
	if err != nil {
		return nil, err
	}
	b, err := s.accept(kind, payload)
	if err != nil {
		return nil, &StreamError{Block: number, Offset: offset, Reason: "it cannot be used", Err: err}
	}
	s.number, s.Offset = in.number, in.offset
	return b, nil
}

func (s *Stream) accept(kind byte, payload []byte) (*block, error) {
	switch kind {
	case kindPairs:
		b, err := decodeBlock(payload)
		if err == nil {
			err = b.check(s.manifest, s.position)
		}
		if err != nil {
			return nil, err
		}
		s.position = position{b.dir, b.last()}
		s.Blocks++
		s.Pairs += int64(len(b.pairs))
		s.Bytes += b.size()
		return b, nil
	case kindEnd:
		want, err := endPayload(s.Progress)
		if err != nil || !bytes.Equal(want, payload) {
			return nil, errors.New("it is the end, but does not agree with the blocks before it")
		}
		s.Complete = true
		return nil, nil
	}
	return nil, errors.New("it is of a kind that is not known")
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
// *[StreamError], *[NameError].
func (s *Set) Verify(ctx context.Context, name string, r io.Reader, o VerifyOptions) (p Progress, err error) {
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

// pairReader reads the pairs of blocks, one after the other.
type pairReader struct {
	next  func() (*block, error)
	block *block        // nil at the end
	pairs []kv.KeyValue // of the block, from the current one on
}

// advance goes on to the next pair.
func (r *pairReader) advance() (err error) {
	if len(r.pairs) > 1 {
		r.pairs = r.pairs[1:]
		return nil
	}
	r.pairs = nil
	if r.block, err = r.next(); r.block != nil {
		r.pairs = r.block.pairs
	}
	return err
}

// differs says in what the current pair differs from that of a stream; "" if in nothing.
func (r *pairReader) differs(stream *pairReader) string {
	switch order := r.comparePlace(stream); {
	case order < 0:
		return "it has " + r.place() + ", the stream does not"
	case order > 0:
		return "it does not have " + stream.place()
	case !bytes.Equal(r.pairs[0].Value, stream.pairs[0].Value):
		return "it has another value for " + r.place()
	}
	return ""
}

// comparePlace compares where two readers are; the end comes last.
func (r *pairReader) comparePlace(other *pairReader) int {
	switch {
	case r.block == nil:
		return 1
	case other.block == nil:
		return -1
	}
	return cmp.Or(cmp.Compare(r.block.dir, other.block.dir), bytes.Compare(r.pairs[0].Key, other.pairs[0].Key))
}

// place names the current key.
func (r *pairReader) place() string {
	return fmt.Sprintf("the key %s of directory %d", strconv.QuoteToASCII(string(r.pairs[0].Key)), r.block.dir)
}
